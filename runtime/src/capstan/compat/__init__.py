"""`tf.compat`, as a package: programs import `capstan.compat.v1` by its path.

`capstan.compat.v1` is `capstan` itself. There is no file of that name: a program that loads files
by their path, as pytest does, would make a second module. `capstan.compat.v2` has no file either:
`version2` has its names.
"""

import sys
from typing import Any

from capstan.api import compat
from capstan.api.compat import (
    as_bytes,
    as_str,
    as_str_any,
    as_text,
    bytes_or_text_types,
    complex_types,
    forward_compatibility_horizon,
    forward_compatible,
    integral_types,
    path_to_str,
    real_types,
)
from capstan.compat import version2
from capstan.core import alias

__all__ = [
    "as_bytes",
    "as_str",
    "as_str_any",
    "as_text",
    "bytes_or_text_types",
    "complex_types",
    "forward_compatibility_horizon",
    "forward_compatible",
    "integral_types",
    "path_to_str",
    "real_types",
]

sys.modules[f"{__name__}.v1"] = sys.modules["capstan"]
alias.grow(__name__, version2.modules(), version2.absent)


def __getattr__(name: str) -> Any:
    return getattr(compat, name)
