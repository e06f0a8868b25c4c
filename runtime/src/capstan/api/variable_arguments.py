"""The arguments of `tf.Variable`: initial values and collections (python/ops/variables.py)."""

from collections.abc import Sequence
from typing import Any

from capstan.framework import collections, convert
from capstan.framework import graph as graphs

_Keys = collections.GraphKeys


def initial_tensor(value: Any, dtype: Any) -> graphs.Tensor:
    """Return the tensor of an initial value, which may be a function."""
    given = value() if callable(value) else value
    return convert.convert_to_tensor(given, dtype, "initial_value")


def inside_control_flow(name: str) -> ValueError:
    """Return the error of an initial value that a loop or a conditional computes."""
    return ValueError(
        f"Initializer for variable {name} is from inside a control-flow construct, such as a loop "
        "or conditional. When creating a variable inside a loop or conditional, use a lambda as "
        "the initializer."
    )


def collection_keys(given: Sequence[str] | None, trainable: bool) -> list[str]:
    """Return the collections of a new variable. `given` is None, or the argument `collections`.

    Raises:
        ValueError: `given` is not a list.
    """
    keys = [_Keys.GLOBAL_VARIABLES] if given is None else given
    if not isinstance(keys, list | tuple | set):
        raise ValueError(  # noqa: TRY004 - what TensorFlow raises
            "collections argument to Variable constructor must be a list, tuple, or set. Got "
            f"{keys!r} of type {type(keys).__name__}"
        )
    if trainable and _Keys.TRAINABLE_VARIABLES not in keys:
        return [*keys, _Keys.TRAINABLE_VARIABLES]
    return list(keys)
