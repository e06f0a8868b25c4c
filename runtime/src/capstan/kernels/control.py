"""Kernels of placeholders, identities, no-ops, assertions, prints and branches."""

import itertools
import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.core import dtypes
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels.arithmetic import constantly
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid


def _placeholder(node: NodeContext) -> Function:
    dtype = node.output_dtypes[0]
    message = (
        f"You must feed a value for placeholder tensor '{node.name}' with dtype "
        f"{dtypes.cpp_name(dtype)}"
    )
    shape = node.output_shapes[0]
    if shape:
        sizes = ",".join("?" if size is None else str(size) for size in shape)
        message += f" and shape [{sizes}]"

    def placeholder() -> Array:
        raise invalid(message)

    return placeholder


def _nothing() -> None:
    return None


def _same(x: Array) -> Array:
    return x


def _assert(node: NodeContext) -> Function:
    limit = node.attrs["summarize"]

    def check(condition: Array, *data: Array) -> None:
        if condition.ndim:
            raise invalid("In[0] should be a scalar: " + show(condition.shape))
        if not condition:
            values = " ".join(f"[{summary(value, limit)}]" for value in data)
            raise invalid(f"assertion failed: {values}")

    return check


def _print(node: NodeContext) -> Function:
    message, limit = node.attrs["message"].decode("utf-8", "replace"), node.attrs["summarize"]
    first_n = node.attrs["first_n"]
    calls = itertools.count()

    def show(value: Array, *data: Array) -> Array:
        if first_n < 0 or next(calls) < first_n:
            values = "".join(f"[{summary(element, limit)}]" for element in data)
            # A single write keeps the lines of several threads apart.
            sys.stderr.write(f"{message}{values}\n")
        return value

    return show


def summary(value: Array, limit: int) -> str:
    """Return the first `limit` elements as text, in the format of Tensor::SummarizeValue.

    A negative `limit` means all elements.

    >>> summary(np.array([[1, 2], [3, 4]]), 3), summary(np.array(b"x = ", object), 3)
    ('[1 2][3...]...', 'x = ')
    """
    array = np.asarray(value)
    flat = array.ravel().tolist()
    shown = flat if limit < 0 else flat[:limit]
    text = _nested([_word(element) for element in shown], array.shape[1:])
    return text if len(shown) == len(flat) else text + "..."


def _nested(words: Sequence[str], inner: Sequence[int]) -> str:
    """Return words as rows in brackets, one pair for each part of the sizes `inner`.

    If there are fewer words, the last row ends with dots.
    """
    if not inner or not words:
        return " ".join(words)
    size = math.prod(inner)
    parts = [words[at : at + size] for at in range(0, len(words), size)]
    texts = [_nested(part, inner[1:]) for part in parts]
    if len(inner) == 1 and len(parts[-1]) < size:
        texts[-1] += "..."
    return "".join(f"[{text}]" for text in texts)


def _word(element: object) -> str:
    if isinstance(element, bytes):
        return element.decode("utf-8", "backslashreplace")
    if isinstance(element, bool):
        return str(int(element))
    return f"{element:g}" if isinstance(element, float) else str(element)


def _guaranteed(node: NodeContext) -> Function:
    if node.input_dtypes[0] is dtypes.resource:
        raise invalid("Input tensor cannot be a resource variable handle.")
    return _same


register(Kernel("NoOp", constantly(_nothing), emit=lambda inputs: "None"))
register(Kernel("Placeholder", _placeholder))
register(Kernel("PlaceholderV2", _placeholder))
for _op in (
    *("Identity", "PlaceholderWithDefault", "PreventGradient", "RefIdentity"),
    "StopGradient",
):
    register(Kernel(_op, constantly(_same), alias=True, emit=lambda inputs: inputs[0]))
register(Kernel("GuaranteeConst", _guaranteed, alias=True))
register(Kernel("Assert", _assert))
register(Kernel("Print", _print, alias=True))


def _both(data: Any, predicate: Any) -> tuple[Any, Any]:
    return data, data


def _first(*inputs: Any) -> tuple[Any, Any]:
    return inputs[0], np.int32(0)


# The compiler writes an `if` for these ops. The kernels only tell the placer where the ops can run.
for _op in ("Switch", "RefSwitch"):
    register(Kernel(_op, constantly(_both)))
for _op in ("Merge", "RefMerge"):
    register(Kernel(_op, constantly(_first)))


def _select(index: Any, *inputs: Any) -> Any:
    if index.ndim:
        raise invalid(f"Index must be a scalar, but it has shape {show(index.shape)}")
    if not 0 <= index < len(inputs):
        raise invalid(f"Index must be in the range [0, {len(inputs)}) but got {index}")
    return inputs[int(index)]


register(Kernel("RefSelect", constantly(_select)))
