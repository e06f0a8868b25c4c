"""`python.ops.gradient_checker_v2`: compares the gradients of a function with differences.

The functions work in the default graph, and in the default session or a new one. They block.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from capstan.api import creation_ops, gradient_checker
from capstan.client import session as sessions
from capstan.core.arrays import Array
from capstan.framework import convert, defaults

__all__ = ["compute_gradient", "max_error"]


def compute_gradient(
    f: Callable[..., Any], x: list[Any], delta: float = 1e-3
) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    """Return the Jacobians of `f` at `x`: those by `tf.gradients`, and those by differences.

    Raises:
        ValueError: `x` is not a list, or a result without elements has a gradient that is not zero.
    """
    if not isinstance(x, list):
        raise ValueError(  # noqa: TRY004 - TensorFlow's error
            f"`x` must be a list of Tensors (arguments to `f`), not a {type(x)}"
        )
    tensors = [convert.convert_to_tensor(each) for each in x]
    session = defaults.get_default_session() or sessions.Session()
    with session.as_default():
        at = session.run(tensors)
        places = [creation_ops.placeholder(each.dtype, each.shape) for each in tensors]
        y = f(*places)
        feeds = dict(zip(places, at, strict=True))
        shapes = [value.shape for value in at]
        pairs = gradient_checker.compute_gradient(
            places, shapes, y, y.shape.as_list(), at, delta, extra_feed_dict=feeds
        )
    by_gradients, by_differences = zip(*pairs, strict=True)
    return by_gradients, by_differences


def max_error(grad1: Iterable[Array], grad2: Iterable[Array]) -> Any:
    """Return the largest difference between the elements of two lists of Jacobians."""
    pairs = zip(grad1, grad2, strict=False)
    return max((np.abs(a - b).max() for a, b in pairs if a.size or b.size), default=0)
