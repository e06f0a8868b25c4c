"""Kernels that turn axes of one data format into those of another (data_format_ops.cc)."""

from typing import Any

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid

_SIZES = (4, 5)
_SPATIAL = 2
"""The batch and the channels are not spatial axes."""


def _formats(node: NodeContext) -> tuple[str, str]:
    source, target = (node.attrs[f"{name}_format"].decode() for name in ("src", "dst"))
    for text, name in ((source, "Source"), (target, "Destination")):
        if len(text) not in _SIZES:
            raise invalid(
                f"{name} format must be of length 4 or 5, received {name} format = {text}"
            )
    if sorted(source) != sorted(target):
        raise invalid(
            f"Destination and source format must determine a permutation, got {source} and {target}"
        )
    return source, target


def _map(node: NodeContext) -> Function:
    source, target = _formats(node)
    places = np.array([target.index(letter) for letter in source], node.attrs["T"].as_numpy_dtype)

    def mapped(x: Array) -> Any:
        count = len(places)
        if ((x < -count) | (x >= count)).any():
            raise invalid(f"Axes must be in [-{count}, {count}), got {x.tolist()}")
        return places[x % count]

    return mapped


def _permute(node: NodeContext) -> Function:
    source, target = _formats(node)

    def permuted(x: Array) -> Array:
        if x.ndim not in (1, 2):
            raise invalid(f"input must be a vector or 2D tensor, but got shape {show(x.shape)}")
        letters: tuple[str, ...] = (source, target)
        if len(x) == len(source) - _SPATIAL:
            letters = tuple("".join(a for a in text if a not in "NC") for text in letters)
        if len(x) != len(letters[0]):
            raise invalid(
                f"1D input must be of size {len(source) - _SPATIAL} or {len(source)}, but got "
                f"shape {show(x.shape)}"
            )
        if x.ndim == 2 and x.shape[1] != 2:
            raise invalid(
                f"Second dimension of 2D input must be of size 2, but got shape {show(x.shape)}"
            )
        return x[[letters[0].index(letter) for letter in letters[1]]]

    return permuted


register(Kernel("DataFormatDimMap", _map))
register(Kernel("DataFormatVecPermute", _permute))
