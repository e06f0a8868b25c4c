"""`tf.einsum`: sums of products by the labels of axes (python/ops/special_math_ops.py)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.api.scoped import scoped
from capstan.framework import convert
from capstan.framework.raw import raw

__all__ = ["einsum"]

_ELLIPSIS = "..."


def einsum(equation: str, *inputs: Any, **kwargs: Any) -> Any:
    """Return the sum of products that an equation such as "ij,jk->ik" describes.

    An ellipsis stands for any number of axes, which are broadcast: "...ij,...jk->...ik". A letter
    that one tensor has twice takes a diagonal: "ii->i". Without an arrow, the result has the axes
    of the ellipsis, and those of the letters that occur once, in the order of the alphabet.

    Raises:
        ValueError: the equation is malformed, or does not fit the inputs.
    """
    name = kwargs.pop("name", None)
    if kwargs:
        raise TypeError(f"invalid keyword arguments for this function: {', '.join(kwargs)}")
    labels, target = _parsed(equation, len(inputs))
    with scoped(name, "einsum", inputs):
        tensors = [convert.convert_to_tensor(value) for value in inputs]
        for text, tensor in zip(labels, tensors, strict=True):
            _check_rank(equation, text, tensor)
        is_plain = all(
            text.isalpha() and len(set(text)) == len(text) and tensor.shape.ndims is not None
            for text, tensor in zip(labels, tensors, strict=True)
        )
        if not is_plain:
            return _by_operations(labels, tensors, target)
        known, result = labels[0], tensors[0]
        for at, (text, tensor) in enumerate(zip(labels[1:], tensors[1:], strict=True), 1):
            later = set(target).union(*labels[at + 1 :])
            known, result = _pair(known, result, text, tensor, later)
        known, result = _without(known, result, set(target))
        return _ordered(known, result, target)


def _parsed(equation: str, count: int) -> tuple[list[str], str]:
    """Return the labels of each of `count` inputs, and those of the result.

    Raises:
        ValueError: the equation is malformed.
    """
    left, arrow, target = equation.replace(" ", "").partition("->")
    labels = left.split(",")
    if len(labels) != count:
        raise ValueError(f"Expected {len(labels)} arguments for equation {equation!r}, got {count}")
    if not arrow:
        letters = left.replace(",", "").replace(_ELLIPSIS, "")
        once = sorted(each for each in set(letters) if letters.count(each) == 1)
        target = "".join([_ELLIPSIS * (_ELLIPSIS in left), *once])
    for text in (*labels, target):
        letters = text.replace(_ELLIPSIS, "", 1)
        if not (letters.isalpha() or not letters):
            raise ValueError(
                f"Indices have incorrect format in {equation!r}: write letters, and an ellipsis "
                "at most once a tensor"
            )
    if len(set(target) - {"."}) != len(target.replace(_ELLIPSIS, "")):
        raise ValueError(f"The output of {equation!r} has an index twice")
    if set(target) - set(left):
        raise ValueError(f"Unknown index in the output of {equation!r}")
    return labels, target


def _check_rank(equation: str, labels: str, tensor: Any) -> None:
    rank, letters = tensor.shape.ndims, len(labels.replace(_ELLIPSIS, ""))
    if rank is not None and (rank < letters or (rank > letters and _ELLIPSIS not in labels)):
        raise ValueError(f"{tensor} does not have the rank of {labels!r} in {equation!r}")


def _by_operations(labels: Sequence[str], tensors: Sequence[Any], target: str) -> Any:
    """Return the result of `Einsum` operations of one or two inputs.

    If the target lacks the ellipsis of an input, the result is summed over its axes.
    """
    (known, *rest), (result, *others) = labels, tensors
    is_broadcasting = any(_ELLIPSIS in text for text in labels) and _ELLIPSIS not in target
    # Without the ranks, the step decides whether the ellipsis stands for axes, and then fails.
    lacks_axes = is_broadcasting and all(tensor.shape.ndims is not None for tensor in tensors)
    wanted = _ELLIPSIS * lacks_axes + target
    if not rest:
        result = raw.Einsum([result], equation=f"{known}->{wanted}")
    for at, (text, tensor) in enumerate(zip(rest, others, strict=True), 1):
        later = set(target).union(*rest[at:]) - {"."}
        kept = "".join(dict.fromkeys(each for each in known + text if each in later))
        output = wanted if at == len(rest) else _ELLIPSIS * (_ELLIPSIS in known + text) + kept
        result = raw.Einsum([result, tensor], equation=f"{known},{text}->{output}")
        known = output
    if not lacks_axes:
        return result
    axes = np.arange(result.shape.ndims - len(target), dtype=np.int32)
    return raw.Sum(result, axes) if len(axes) else result


def _pair(x_labels: str, x: Any, y_labels: str, y: Any, later: set[str]) -> tuple[str, Any]:
    """Return the product of two tensors, summed over the indices that are not used later."""
    x_labels, x = _without(x_labels, x, later | set(y_labels))
    y_labels, y = _without(y_labels, y, later | set(x_labels))
    shared = [each for each in x_labels if each in y_labels]
    batch = [each for each in shared if each in later]
    summed = [each for each in shared if each not in later]
    x_free = [each for each in x_labels if each not in shared]
    y_free = [each for each in y_labels if each not in shared]
    x_sizes, y_sizes = (
        dict(zip(labels, _dynamic(value), strict=True))
        for labels, value in ((x_labels, x), (y_labels, y))
    )
    x = _ordered(x_labels, x, "".join(batch + x_free + summed))
    y = _ordered(y_labels, y, "".join(batch + summed + y_free))
    x = _reshaped(x, [*(x_sizes[each] for each in batch),
                      _product(x_sizes, x_free), _product(x_sizes, summed)])  # fmt: skip
    y = _reshaped(y, [*(y_sizes[each] for each in batch),
                      _product(y_sizes, summed), _product(y_sizes, y_free)])  # fmt: skip
    # A letter has one size, so nothing is broadcast.
    product = raw.BatchMatMul(x, y) if batch else raw.MatMul(x, y)
    sizes = [*(x_sizes[each] for each in batch + x_free), *(y_sizes[each] for each in y_free)]
    return "".join(batch + x_free + y_free), _reshaped(product, sizes)


def _dynamic(value: Any) -> list[Any]:
    """Return the sizes of the axes: numbers if they are known, else tensors."""
    sizes = value.shape.as_list()
    if None not in sizes:
        return list(sizes)
    dynamic = raw.Unpack(raw.Shape(value), num=len(sizes))
    return [tensor if size is None else size for size, tensor in zip(sizes, dynamic, strict=True)]


def _product(sizes: dict[str, Any], labels: list[str]) -> Any:
    result: Any = 1
    for label in labels:
        result = result * sizes[label]
    return result


def _reshaped(value: Any, sizes: list[Any]) -> Any:
    if all(isinstance(size, int) for size in sizes):
        return raw.Reshape(value, np.array(sizes, np.int32))
    result = raw.Reshape(value, raw.Pack(sizes))
    result.set_shape([size if isinstance(size, int) else None for size in sizes])
    return result


def _without(labels: str, value: Any, kept: set[str]) -> tuple[str, Any]:
    """Sum over the indices that are not in `kept`."""
    axes = [axis for axis, label in enumerate(labels) if label not in kept]
    if axes:
        value = raw.Sum(value, np.array(axes, np.int32))
    return "".join(label for label in labels if label in kept), value


def _ordered(labels: str, value: Any, target: str) -> Any:
    if labels == target:
        return value
    return raw.Transpose(value, np.array([labels.index(each) for each in target], np.int32))
