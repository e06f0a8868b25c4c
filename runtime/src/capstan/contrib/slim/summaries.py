"""Summaries that are named after their tensors (contrib/slim/python/slim/summaries.py).

The functions of single tensors return the summary, a string scalar that is in the collection
SUMMARIES. Its name is `prefix`, a slash and `name`, which is by default the name of the tensor's
operation. With `print_summary`, each computation of the summary also writes its name and its tensor
to standard error.
"""

from collections.abc import Callable, Iterable
from typing import Any

from capstan.api import control_flow_ops, nn, summary_ops
from capstan.framework import collections
from capstan.framework import graph as graphs


def add_histogram_summary(tensor: Any, name: str | None = None, prefix: str | None = None) -> Any:
    """Add a histogram of a tensor of any shape."""
    return summary_ops.histogram(_name(tensor, name, prefix), tensor)


def add_image_summary(
    tensor: Any, name: str | None = None, prefix: str | None = None, print_summary: bool = False
) -> Any:
    """Add the images of a tensor of the shape [batch, height, width, channels]."""
    return _added(summary_ops.image, tensor, _name(tensor, name, prefix), print_summary)


def add_scalar_summary(
    tensor: Any, name: str | None = None, prefix: str | None = None, print_summary: bool = False
) -> Any:
    """Add the value of a scalar."""
    return _added(summary_ops.scalar, tensor, _name(tensor, name, prefix), print_summary)


def add_zero_fraction_summary(
    tensor: Any, name: str | None = None, prefix: str | None = None, print_summary: bool = False
) -> Any:
    """Add the fraction of the elements that are zero, under the name `.../Fraction_of_Zero_Values`.

    The tensor may have any shape.
    """
    named = f"{_name(tensor, name, prefix)}/Fraction_of_Zero_Values"
    return _added(summary_ops.scalar, nn.zero_fraction(tensor), named, print_summary)


def add_histogram_summaries(tensors: Iterable[Any], prefix: str | None = None) -> list[Any]:
    """Add a histogram of each tensor, as `add_histogram_summary` does."""
    return [add_histogram_summary(tensor, prefix=prefix) for tensor in tensors]


def add_image_summaries(tensors: Iterable[Any], prefix: str | None = None) -> list[Any]:
    """Add the images of each tensor, as `add_image_summary` does."""
    return [add_image_summary(tensor, prefix=prefix) for tensor in tensors]


def add_scalar_summaries(
    tensors: Iterable[Any], prefix: str | None = None, print_summary: bool = False
) -> list[Any]:
    """Add the value of each scalar, as `add_scalar_summary` does."""
    return [
        add_scalar_summary(tensor, prefix=prefix, print_summary=print_summary) for tensor in tensors
    ]


def add_zero_fraction_summaries(tensors: Iterable[Any], prefix: str | None = None) -> list[Any]:
    """Add the fraction of zeros of each tensor, as `add_zero_fraction_summary` does."""
    return [add_zero_fraction_summary(tensor, prefix=prefix) for tensor in tensors]


def _name(tensor: Any, name: str | None, prefix: str | None) -> str:
    name = name or tensor.op.name
    return f"{prefix}/{name}" if prefix else name


def _added(make: Callable[..., Any], tensor: Any, name: str, is_printed: bool) -> Any:
    if not is_printed:
        return make(name, tensor)
    # Only the summary that prints is in the collection, so that each step computes it.
    printing = control_flow_ops.Print(make(name, tensor, collections=[]), [tensor], name)
    graphs.get_default_graph().add_to_collection(collections.GraphKeys.SUMMARIES, printing)
    return printing
