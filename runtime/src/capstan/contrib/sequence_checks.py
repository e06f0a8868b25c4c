"""The checks of the input of a state saver
(contrib/training/python/training/sequence_queueing_state_saver.py).
"""

from typing import Any

from capstan.api import (
    array_ops,
    check_ops,
    control_flow_ops,
    creation_ops,
    logic_ops,
    math_ops,
    reduce_ops,
    string_ops,
)
from capstan.core import dtypes
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


def checked(value: Any, condition: Any, data: list[Any]) -> Any:
    """Return a copy of a tensor. The step raises InvalidArgumentError unless `condition` holds."""
    with graphs.get_default_graph().control_dependencies(
        [control_flow_ops.Assert(condition, data)]
    ):
        return raw.Identity(value)


def check_multiple(value: Any, size: Any, num_unroll: int, what: str) -> Any:
    """Return `value`. The step fails unless `size` is a multiple of `num_unroll`, and not 0."""
    unit = math_ops.cast(num_unroll, size.dtype)
    remainder, zero = raw.FloorMod(size, unit), creation_ops.zeros([], size.dtype)
    is_multiple = logic_ops.logical_and(
        logic_ops.equal(remainder, zero), logic_ops.not_equal(size, zero)
    )
    saw = string_ops.string_join(
        [
            f"{what} should be a multiple of: {num_unroll}, but saw value: ",
            string_ops.as_string(size),
            ". Consider setting pad=True.",
        ]
    )
    return checked(value, is_multiple, [saw])


def like_state(name: str, value: Any, state: Any) -> Any:
    """Return a value. It must have the shape of a state: now if it is known, or in the step."""
    if not value.shape.is_compatible_with(state.shape):
        raise ValueError(
            f"Shape check failed for state {name}: {value.shape} is not compatible with "
            f"{state.shape}"
        )
    expected, found = array_ops.shape(state), array_ops.shape(value)
    is_rank = logic_ops.equal(raw.Size(expected), raw.Size(found))
    ranked = checked(value, is_rank, [f"Rank of state {name}, shape received:", found])
    found = array_ops.shape(ranked)
    is_same = reduce_ops.reduce_all(logic_ops.equal(expected, found))
    message = f"Shape of state {name} should be: "
    return checked(ranked, is_same, [message, expected, ", shape received: ", found])


def check_names(what: str, values: Any) -> None:
    if not isinstance(values, dict):
        raise TypeError(f"{what} must be a dict, but is {type(values)}")
    for each in values:
        if not isinstance(each, str):
            raise TypeError(f"{what} key must be string: {each}")
        if ":" in each:
            raise ValueError(f"{what} key may not have a colon: '{each}'")


def with_room(key: Any, capacity: int, batch_size: Any) -> Any:
    """Return the key. Refuse a capacity below the batch size, in a step if that is a tensor."""
    if not isinstance(batch_size, graphs.Tensor):
        if capacity < batch_size:
            raise ValueError(f"capacity {capacity} needs to be >= batch_size {batch_size}")
        return key
    check = check_ops.assert_greater_equal(
        math_ops.cast(capacity, dtypes.int64),
        math_ops.cast(batch_size, dtypes.int64),
        message="capacity needs to be >= batch_size.",
    )
    with graphs.get_default_graph().control_dependencies([check]):
        return raw.Identity(key)
