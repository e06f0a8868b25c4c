"""The arguments of operations that have other names in TensorFlow's functions.

Source: core/api_def/base_api.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_REDUCTIONS: Final = ("All", "Any", "EuclideanNorm", "Max", "Mean", "Min", "Prod", "Sum")
RENAMED: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        **{name: {"reduction_indices": "axis"} for name in _REDUCTIONS},
        "ExpandDims": {"dim": "axis"},
        "Select": {"t": "x", "e": "y"},
        "Split": {"split_dim": "axis"},
        "SplitV": {"split_dim": "axis"},
        "Squeeze": {"squeeze_dims": "axis"},
        "Where": {"input": "condition"},
    }
)
"""The arguments of operations whose functions call them otherwise."""
