"""Builds a wheel for each kind of machine into dist, on this one, with Zig's C compiler.

    python generate/wheels.py [TARGET...]     all by default

The compiled loops use the limited API of Python 3.11, which needs no Python of the target: its
headers are those of any Python, but for ``pyconfig.h``, of which it takes the sizes. A wheel whose
library is missing, or is for another machine, is refused; the one for this machine is installed and
asked for its loops.
"""

import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import ziglang  # type: ignore[import-not-found]

ROOT: Final = Path(__file__).parents[1]
DIST: Final = ROOT / "dist"
NEEDED: Final = ("src", "setup.py", "pyproject.toml", "README.md", "LICENSE")
ZIG: Final = Path(ziglang.__file__).parent / "zig"
LIBRARY: Final = "magnetar/inner/_compiled.abi3.so"


SIZES: Final = (
    ("SHORT", 2), ("INT", 4), ("LONG", 8), ("LONG_LONG", 8), ("VOID_P", 8), ("SIZE_T", 8),
    ("WCHAR_T", 4), ("FLOAT", 4), ("DOUBLE", 8), ("OFF_T", 8), ("TIME_T", 8), ("PID_T", 4),
)  # fmt: skip
"""Bytes of C's types, on every target alike."""


class Target(NamedTuple):
    """A kind of machine: what wheels call it, what Zig does, and how its libraries begin."""

    platform: str
    zig: str
    magic: bytes
    machine: tuple[int, bytes]  # Where a library names the processor, and how.

    def is_of(self, library: bytes) -> bool:
        at, processor = self.machine
        return library.startswith(self.magic) and library[at : at + len(processor)] == processor


ELF, MACH_O = b"\x7fELF", b"\xcf\xfa\xed\xfe"
TARGETS: Final = (
    Target("manylinux2014_x86_64", "x86_64-linux-gnu.2.17", ELF, (18, b"\x3e\x00")),
    Target("manylinux2014_aarch64", "aarch64-linux-gnu.2.17", ELF, (18, b"\xb7\x00")),
    Target("macosx_11_0_x86_64", "x86_64-macos.11.0", MACH_O, (4, b"\x07\x00\x00\x01")),
    Target("macosx_11_0_arm64", "aarch64-macos.11.0", MACH_O, (4, b"\x0c\x00\x00\x01")),
)


def build(target: Target) -> Path:
    """Build a wheel in a copy of the sources. Raises ValueError when it is not for its target."""
    with tempfile.TemporaryDirectory() as folder:
        sources = Path(folder) / "magnetar"
        sources.mkdir()
        for name in NEEDED:
            found = ROOT / name
            if found.is_dir():
                ignored = shutil.ignore_patterns("*.so", "__pycache__", "*.egg-info")
                shutil.copytree(found, sources / name, ignore=ignored)
            else:
                shutil.copy(found, sources / name)
        headers = Path(folder) / "include"
        shutil.copytree(sysconfig.get_path("include"), headers)
        sizes = [f"#define SIZEOF_{name} {size}\n" for name, size in SIZES]
        (headers / "pyconfig.h").write_text("".join([*sizes, "#define HAVE_STDINT_H 1\n"]))
        compiler = f"{ZIG} cc -target {target.zig}"
        shared = "-shared -undefined dynamic_lookup" if target.magic == MACH_O else "-shared -s"
        subprocess.run(
            [
                *(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", str(sources)),
                *("--disable-pip-version-check", "--wheel-dir", folder),
                f"--config-settings=--build-option=--plat-name={target.platform}",
            ],
            env={
                **os.environ,
                "CC": compiler,
                "LDSHARED": f"{compiler} {shared}",
                "CFLAGS": f"-fPIC -I{headers}",
                "ARCHFLAGS": "",
            },
            check=True,
        )
        [wheel] = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as files:
            if LIBRARY not in files.namelist():
                raise ValueError(f"{wheel.name} has no compiled loops")
            if not target.is_of(files.read(LIBRARY)):
                raise ValueError(f"the loops of {wheel.name} are for another machine")
        DIST.mkdir(exist_ok=True)
        return Path(shutil.move(wheel, DIST / wheel.name))


def is_of_this_machine(target: Target) -> bool:
    mine = platform.machine()
    return sys.platform == "linux" and target.platform == f"manylinux2014_{mine}"


def try_out(wheel: Path) -> None:
    """Install a wheel beside what it needs, and ask whether its loops are used."""
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--no-deps", "--target", folder, str(wheel)], check=True)
        asked = "from magnetar import inner; print(inner.BUILD, inner.__file__)"
        said = subprocess.run(
            [sys.executable, "-c", asked],
            env={**os.environ, "PYTHONPATH": folder},
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        if not said.startswith(f"compiled {folder}"):
            raise ValueError(f"{wheel.name}, installed, says {said.strip()!r}")


def main(names: Sequence[str]) -> int:
    known = {target.platform: target for target in TARGETS}
    if unknown := [name for name in names if name not in known]:
        print(f"no such target: {', '.join(unknown)}; there are {', '.join(known)}")
        return 1
    for target in [known[name] for name in names] or TARGETS:
        wheel = build(target)
        tried = ""
        if is_of_this_machine(target):
            try_out(wheel)
            tried = ", installed and run"
        print(f"{wheel.relative_to(ROOT)}  {wheel.stat().st_size / 1e6:.1f} MB{tried}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
