"""Builds the wheel of the Python module, for pip: CMake makes the package, this packs it (PEP 517, PEP 427).

    pip install .
    pip install --config-settings build-dir=build/release .      packs what is built there already

Without a build-dir it builds in build/wheel, for the interpreter that runs it, and is quick the next time.
"""

import base64
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def _version():
    return re.search(r"project\(lapse VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


def _metadata():
    about = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    return (f"Metadata-Version: 2.1\nName: lapse\nVersion: {_version()}\n"
            "Summary: A key-value store whose speciality is time\nLicense: Apache-2.0\n"
            "Requires-Python: >=3.11\nDescription-Content-Type: text/markdown\n\n" + about)


def _tag():
    version = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    return f"{version}-{version}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def _built_package(settings):
    """The folder of the package, built now unless a build-dir is given."""
    given = (settings or {}).get("build-dir")
    if given:
        return pathlib.Path(given, "python", "lapse").resolve(strict=True)
    folder = ROOT / "build" / "wheel"
    configure = ["cmake", "-S", ROOT, "-B", folder, "-DCMAKE_BUILD_TYPE=Release",
                 "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG", "-DLAPSE_PYTHON=ON", "-DLAPSE_TESTS=OFF",
                 f"-DPython_EXECUTABLE={sys.executable}", "--log-level=WARNING"]
    if shutil.which("ninja"):
        configure += ["-G", "Ninja"]
    if shutil.which("ccache"):
        configure += ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"]
    shutil.rmtree(folder / "python", ignore_errors=True)  # of another interpreter, or of files that are gone
    jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL") or str(os.cpu_count())
    subprocess.run(configure, check=True)
    subprocess.run(["cmake", "--build", folder, "-j", jobs, "--target", "lapse_python_package"], check=True)
    return folder / "python" / "lapse"


def _record(name, content):
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}\n"


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """Without this pip would build a wheel only to look at its name."""
    info = f"lapse-{_version()}.dist-info"
    pathlib.Path(metadata_directory, info).mkdir()
    pathlib.Path(metadata_directory, info, "METADATA").write_text(_metadata(), encoding="utf-8")
    return info


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    package = _built_package(config_settings)
    info = f"lapse-{_version()}.dist-info"
    files = {f"lapse/{path.name}": path.read_bytes() for path in sorted(package.iterdir()) if path.is_file()}
    files[f"{info}/METADATA"] = _metadata().encode()
    files[f"{info}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: lapse\nRoot-Is-Purelib: false\n"
                              f"Tag: {_tag()}\n").encode()
    files[f"{info}/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    record = "".join(_record(name, content) for name, content in files.items()) + f"{info}/RECORD,,\n"
    files[f"{info}/RECORD"] = record.encode()

    wheel = f"lapse-{_version()}-{_tag()}.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory, wheel), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return wheel


def build_sdist(sdist_directory, config_settings=None):
    """What git knows of."""
    name = f"lapse-{_version()}"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    with tarfile.open(pathlib.Path(sdist_directory, name + ".tar.gz"), "w:gz") as archive:
        for file in filter(None, listed.stdout.split("\0")):
            archive.add(ROOT / file, f"{name}/{file}")
        info = pathlib.Path(sdist_directory, "PKG-INFO")
        info.write_text(_metadata(), encoding="utf-8")
        archive.add(info, f"{name}/PKG-INFO")
        info.unlink()
    return name + ".tar.gz"
