"""The kernel of n-grams of strings (core/kernels/string_ngrams_op.cc)."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.core.arrays import Array
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid


def _make(node: NodeContext) -> Function:
    attrs = node.attrs
    separator, left, right = attrs["separator"], attrs["left_pad"], attrs["right_pad"]
    widths, pad_width = attrs["ngram_widths"], attrs["pad_width"]
    keeps_short = attrs["preserve_short_sequences"]
    pads = [min(width - 1 if pad_width < 0 else pad_width, width - 1) for width in widths]

    def of_row(tokens: list[bytes]) -> list[bytes]:
        found: list[bytes] = []
        for width, pad in zip(widths, pads, strict=True):
            row = [left] * pad + tokens + [right] * pad
            found += [separator.join(row[i : i + width]) for i in range(len(row) - width + 1)]
        if keeps_short and tokens and not found:
            pad = max(pad_width, 0)
            found.append(separator.join([left] * pad + tokens + [right] * pad))
        return found

    def ngrams(data: Array, splits: Array) -> tuple[Any, Any]:
        _check(data, splits)
        if not len(data):  # In TensorFlow, even rows with pads then have no n-grams.
            return _strings([]), np.zeros_like(splits)
        tokens, ends = data.tolist(), splits.tolist()
        rows = [of_row(tokens[start:end]) for start, end in itertools.pairwise(ends)]
        counts = itertools.accumulate(map(len, rows), initial=0)
        new_splits = np.fromiter(counts, splits.dtype)[: len(splits)]
        return _strings(list(itertools.chain.from_iterable(rows))), new_splits

    return ngrams


def _check(data: Array, splits: Array) -> None:
    """Require that the splits divide the data into rows."""
    if data.ndim != 1 or splits.ndim != 1:
        raise invalid("StringNGrams: data and data_splits must be vectors")
    if not len(splits):
        return
    size = len(data)
    if splits[0] != 0:
        raise invalid(f"First split value must be 0, got {splits[0]}")
    for before, after in itertools.pairwise(splits.tolist()):
        if not before <= after <= size:
            raise invalid(f"Invalid split value {after}, must be in [{before}, {size}]")
    if splits[-1] != size:
        raise invalid(f"Last split value must be data size. Expected {size}, got {splits[-1]}")


def _strings(values: Sequence[bytes]) -> Array:
    array = np.empty(len(values), object)
    array[:] = values
    return array


register(Kernel("StringNGrams", _make))
