"""pip install, without a network, of what the build has made. (Only the packing: the compiling is the build's.)"""

import os
import pathlib
import subprocess
import sys

import lapse
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(lapse.__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    target = tmp_path_factory.mktemp("site")
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-build-isolation",
                    "--disable-pip-version-check", "--root-user-action=ignore", "--target", target,
                    "--config-settings", f"build-dir={BUILD}", ROOT], check=True, timeout=300)
    return target


def run(installed, code):
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, cwd=installed, capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_what_is_installed_works(installed):
    code = "import lapse; db = lapse.open(); db['k', 60] = 'v'; print(lapse.__file__, db['k'])"
    assert run(installed, code) == f"{installed}/lapse/__init__.py b'v'"


def test_pip_knows_its_version(installed):
    code = "import importlib.metadata as m, lapse; print(m.version('lapse') == lapse.__version__)"
    assert run(installed, code) == "True"


def test_types_are_installed_too(installed):
    assert {"py.typed", "_lapse.pyi"} <= {path.name for path in (installed / "lapse").iterdir()}
