"""pip install, without a network: of what the build has made, and from the sources alone, which takes a minute."""

import os
import pathlib
import shutil
import subprocess
import sys

import lapse
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(lapse.__file__).resolve().parents[2]


def pip_install(target, *arguments):
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-build-isolation", "--no-deps",
                    "--disable-pip-version-check", "--root-user-action=ignore", "--target", target, *arguments],
                   check=True, timeout=500)
    return target


def of_the_build(folder):
    return pip_install(folder / "site", "--config-settings", f"build-dir={BUILD}", ROOT)


def of_the_sources(folder):
    """What is there beside the sources, such as builds, stays behind: the copy has nothing to take a short cut by."""
    shutil.copytree(ROOT, folder / "lapse", ignore=shutil.ignore_patterns("build", "data", ".git", "__pycache__"))
    return pip_install(folder / "site", folder / "lapse")


@pytest.fixture(scope="module", params=[of_the_build, of_the_sources])
def installed(request, tmp_path_factory):
    return request.param(tmp_path_factory.mktemp("pip"))


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
