"""`tf.sysconfig`: how to compile C++ code for TensorFlow (python/platform/sysconfig.py).

Capstan has no C++ code, headers or libraries, and loads none: there are no flags.
"""

import pathlib
from typing import Any

from capstan.api.absent import absent

__all__ = [
    "CXX11_ABI_FLAG",
    "MONOLITHIC_BUILD",
    "get_compile_flags",
    "get_include",
    "get_lib",
    "get_link_flags",
]

CXX11_ABI_FLAG = 0
MONOLITHIC_BUILD = 0


def get_include() -> str:
    """Return the folder where TensorFlow has its headers. Capstan has no such folder."""
    return str(pathlib.Path(get_lib()) / "include")


def get_lib() -> str:
    """Return the folder of the package, where TensorFlow has its library. Capstan has none."""
    return str(pathlib.Path(__file__).parent.parent)


def get_compile_flags() -> list[str]:
    """Return no flags for the compiler: there are no headers to find."""
    return []


def get_link_flags() -> list[str]:
    """Return no flags for the linker: there is no library to link with."""
    return []


def __getattr__(name: str) -> Any:
    raise absent("tf.sysconfig", name)
