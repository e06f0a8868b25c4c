"""`bfloat16_scope` (python/tpu/bfloat16.py)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from capstan.api import math_ops, scope_block
from capstan.core import dtypes


@contextmanager
def bfloat16_scope() -> Iterator[Any]:
    """Let `tf.get_variable` keep variables of bfloat16 in single precision inside the block.

    The program gets such a variable as a tensor that is cast to bfloat16.
    """
    with scope_block.variable_scope("", custom_getter=_precise) as scope:
        yield scope


def _precise(getter: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    if kwargs["dtype"] != dtypes.bfloat16:
        return getter(*args, **kwargs)
    return math_ops.cast(getter(*args, **{**kwargs, "dtype": dtypes.float32}), dtypes.bfloat16)
