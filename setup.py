"""What pyproject.toml cannot say without experiments: the inner loops in C.

Where there is no C compiler or no Python.h they are left out with a warning, and their twins in
Python do the work. One build serves every Python from 3.11 on (abi3).
"""

import hashlib
import os
from pathlib import Path

from setuptools import Extension, setup

FOLDER = Path("src/magnetar/inner/compiled")
# A test compares this with the sources: an old build beside new sources would be a riddle.
SOURCES = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(FOLDER.glob("*.[ch]"))))

setup(
    ext_modules=[
        Extension(
            "magnetar.inner._compiled",
            sources=sorted(map(str, FOLDER.glob("*.c"))),
            depends=sorted(map(str, FOLDER.glob("*.h"))),
            define_macros=[
                ("Py_LIMITED_API", "0x030b0000"),
                ("SOURCES", f'"{SOURCES.hexdigest()[:16]}"'),
            ],
            extra_compile_args=[] if os.name == "nt" else ["-O3"],
            py_limited_api=True,
            optional=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
