"""The two runtime libraries that a kernel needs on a GPU host: the DSL's runtime and apache-tvm-ffi for its Python."""

from __future__ import annotations

import importlib.metadata
import lzma
import re
import subprocess
import sys
import zipfile
from pathlib import Path, PurePosixPath

from warpwright import scratch
from warpwright.child import child_command
from warpwright.device.launch import LaunchError, find_runtime
from warpwright.errors import UserError

__all__ = ["check_python", "compressed_runtime", "supported_pythons", "tvm_ffi_files", "tvm_ffi_version"]

_PACKAGE = "apache-tvm-ffi"
#: What the package carries for compiling extensions and for its own tests.
_UNNEEDED = ("tvm_ffi/3rdparty", "tvm_ffi/include", "tvm_ffi/src", "tvm_ffi/share", "tvm_ffi/stub", "tvm_ffi/cython")
#: glibc versions that its wheels have been tagged for; pip matches each exactly.
_GLIBC = ("2_28", "2_27", "2_24", "2_17")


def supported_pythons() -> tuple[str, ...]:
    """Versions of CPython that the package says it runs on ("3.10", ...), the oldest first."""
    try:
        required = importlib.metadata.metadata("warpwright")["Requires-Python"] or ""
    except importlib.metadata.PackageNotFoundError:
        required = ""
    bounds = dict(re.findall(r"(>=|<)\s*3\.(\d+)\b", required))
    if len(bounds) < 2:  # not installed: what runs this at least
        return (f"{sys.version_info.major}.{sys.version_info.minor}",)
    return tuple(f"3.{minor}" for minor in range(int(bounds[">="]), int(bounds["<"])))


def check_python(python: str) -> None:
    """Raise UserError unless `python` is a version that a bundle can be for."""
    supported = supported_pythons()
    if python not in supported:
        raise UserError(
            f"--python {python}: a bundle runs on CPython {', '.join(supported)}; "
            f"`python3 -c 'import sys; print(*sys.version_info[:2], sep=\".\")'` on the GPU host says which it has"
        )


def compressed_runtime() -> bytes:
    """Return libcute_dsl_runtime.so of the installed nvidia-cutlass-dsl, xz-compressed (44 MB to 16 MB in 4 s).

    Raises UserError when it is not installed.
    """
    try:
        # Preset 6 takes 32 s for 2 MB less.
        return lzma.compress(find_runtime().read_bytes(), preset=1)
    except LaunchError as error:
        raise UserError(str(error)) from error


def tvm_ffi_version() -> str:
    """Version of the installed package. Raises UserError when it is not installed."""
    try:
        return importlib.metadata.version(_PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        raise UserError(f"{_PACKAGE} is not installed; pip install {_PACKAGE}") from None


def tvm_ffi_files(python: str, wheel: Path | None = None) -> dict[str, bytes]:
    """Return the files of apache-tvm-ffi for CPython `python` ("3.12", x86-64 Linux) by path below site-packages.

    Taken from `wheel`, else from the installed package where that is for the same Python, else downloaded with pip.
    Raises UserError when none of these gives it, or the version is none that this package runs on.
    """
    check_python(python)
    if wheel is not None:
        return _from_wheel(wheel, python)
    if python == f"{sys.version_info.major}.{sys.version_info.minor}":
        return _installed()
    with scratch.folder("wheel") as folder:
        return _from_wheel(_download(python, Path(folder)), python)


def _installed() -> dict[str, bytes]:
    version = tvm_ffi_version()
    files = [f for f in importlib.metadata.files(_PACKAGE) or () if _needed(f.as_posix())]
    if not files:
        raise UserError(f"{_PACKAGE} {version} lists no files; give its wheel with --wheel")
    return {f.as_posix(): f.read_binary() for f in files}


def _from_wheel(wheel: Path, python: str) -> dict[str, bytes]:
    tag = f"cp{python.replace('.', '')}"
    if tag not in wheel.name:
        raise UserError(f"{wheel.name} is not for CPython {python}: its name must have {tag}")
    try:
        with zipfile.ZipFile(wheel) as archive:
            return {name: archive.read(name) for name in archive.namelist() if _needed(name)}
    except (OSError, zipfile.BadZipFile) as error:
        raise UserError(f"{wheel}: cannot be read as a wheel ({error})") from error


def _needed(name: str) -> bool:
    path = PurePosixPath(name)
    if name.endswith("/") or ".." in path.parts or path.is_absolute():
        return False
    if path.parts[0].endswith(".dist-info"):
        return True  # the package looks for its library through its metadata
    return (
        path.parts[0] == "tvm_ffi"
        and not any(path.is_relative_to(folder) for folder in _UNNEEDED)
        and path.suffix in (".py", ".so")  # libtvm_ffi_testing.so too: the core links it
    )


def _download(python: str, folder: Path) -> Path:
    platforms = [f"manylinux_{glibc}_x86_64" for glibc in _GLIBC] + ["manylinux2014_x86_64"]
    command = child_command("pip", "download", "--quiet", "--no-deps", "--only-binary=:all:")
    command += ["--implementation", "cp", "--python-version", python, "--dest", str(folder)]
    command += [argument for platform in platforms for argument in ("--platform", platform)]
    command.append(f"{_PACKAGE}=={tvm_ffi_version()}")
    # In the new folder: pip itself may start others.
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode or not wheels:
        last = (done.stderr.strip().splitlines() or ["pip said nothing"])[-1]
        raise UserError(f"{_PACKAGE} for CPython {python} cannot be downloaded ({last}); give its wheel with --wheel")
    return wheels[0]
