"""The shards of factors and weights of a `WALSModel`, and the copies of their values on workers.

A shard holds consecutive rows. If the rows do not divide evenly, each of the first shards holds one
row more, as `tf.nn.embedding_lookup` assumes with the strategy "div".
"""

import numbers
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from capstan.api import (
    context,
    control_flow_ops,
    creation_ops,
    gather_ops,
    math_ops,
    random_ops,
    segment_ops,
    state_ops,
    variables,
)
from capstan.core import dtypes
from capstan.framework import collections, convert


def _sizes(rows: int, num_shards: int) -> list[int]:
    size, rest = divmod(rows, num_shards)
    return [size + 1] * rest + [size] * (num_shards - rest)


def factors(rows: int, size: int, num_shards: int, initial: Any, name: str) -> list[Any]:
    """Return variables with the factors of `rows` rows.

    `initial` is "random", a list with the values of each shard, the values of the only shard, or a
    function that returns one of these.

    Raises:
        ValueError: there are not as many values as shards.
    """
    if callable(initial):
        initial = initial()
    is_random = isinstance(initial, str) and initial == "random"
    if not is_random and not isinstance(initial, list) and num_shards == 1:
        initial = [initial]
    if not is_random:
        _check_count(initial, num_shards, name)

    def of_shard(shard: int, length: int) -> Any:
        return random_ops.random_normal([length, size]) if is_random else initial[shard]

    return _variables(_sizes(rows, num_shards), of_shard, name)


def weights(initial: Any, rows: int, num_shards: int, name: str) -> list[Any] | None:
    """Return variables with the weights of `rows` rows, or None if `initial` is None.

    `initial` is a number, or a list with the weights of each shard. The weights of the only shard
    may be a list of their own.

    Raises:
        ValueError: `initial` is none of these, or there are not as many lists as shards.
    """
    if initial is None:
        return None
    if isinstance(initial, Iterable):
        given: Any = initial
        if num_shards == 1 and len(given) == rows and not _is_nested(given):
            given = [given]
        _check_count(given, num_shards, name)
        return _variables(_sizes(rows, num_shards), lambda shard, _: given[shard], name)
    if not isinstance(initial, numbers.Real) or initial < 0:
        raise ValueError(
            f"Invalid {name}: {initial!r}. Pass None, a number that is not negative, or a list "
            "with a list of such numbers for each shard."
        )
    weight = float(initial)
    return _variables(
        _sizes(rows, num_shards), lambda _, length: weight * creation_ops.ones([length]), name
    )


def _is_nested(given: Any) -> bool:
    """Return whether this is a list of one list, for a matrix that has one row."""
    return len(given) == 1 and not isinstance(given[0], numbers.Real)


def _check_count(initial: Any, num_shards: int, name: str) -> None:
    found = len(initial) if isinstance(initial, Sequence) or hasattr(initial, "__len__") else 1
    if found != num_shards:
        raise ValueError(f"The initial {name} have {found} shards. There are {num_shards}.")


def _variables(lengths: Sequence[int], of_shard: Callable[[int, int], Any], name: str) -> list[Any]:
    return [
        variables.Variable(
            lambda shard=shard, length=length: of_shard(shard, length),
            dtype=dtypes.float32,
            name=f"{name}_shard_{shard}",
        )
        for shard, length in enumerate(lengths)
    ]


def update(shards: list[Any], rows: int, ids: Any, values: Any, name: str) -> Any:
    """Return an operation that sets the rows `ids` of the factors of `rows` rows."""
    if len(shards) == 1:
        return state_ops.scatter_update(shards[0], ids, values, name=name).op
    size, extras = divmod(rows, len(shards))
    owners = math_ops.maximum(ids // (size + 1), (ids - extras) // size)
    own_ids = gather_ops.where_v2(owners < extras, ids % (size + 1), (ids - extras) % size)
    owners = math_ops.cast(owners, dtypes.int32)
    parts = (segment_ops.dynamic_partition(each, owners, len(shards)) for each in (own_ids, values))
    updates = [state_ops.scatter_update(*part) for part in zip(shards, *parts, strict=True)]
    return control_flow_ops.group(*updates, name=name)


def gramian(size: int, name: str) -> Any:
    """Return a variable for the Gramian of factors."""
    return variables.Variable(creation_ops.zeros([size, size]), name=name)


def computed(gramian: Any, factors: list[Any]) -> Any:
    """Return an operation that computes a Gramian: the tasks of the shards compute its parts."""
    parts = []
    for shard in factors:
        with context.colocate_with(shard):
            parts.append(math_ops.matmul(shard, shard, transpose_a=True))
    with context.colocate_with(gramian):
        return state_ops.assign(gramian, math_ops.add_n(parts)).op


class Copies(NamedTuple):
    """Tensors that have the values of variables, and the operations that fill and empty them."""

    tensors: list[Any]
    fill: Any
    empty: Any


def copies(originals: list[Any] | None, name: str, is_cached: bool) -> Copies:
    """Return local variables for the values of `originals`, or without a cache these themselves.

    The copies are on the device of the worker, also if a device function puts variables on
    parameter servers. They are filled one after the other, which takes less memory.
    """
    if not is_cached or originals is None:
        return Copies(originals or [], control_flow_ops.no_op(), control_flow_ops.no_op())
    held: list[Any] = []
    fills: list[Any] = []
    empties: list[Any] = []
    worker = convert.constant(1.0).device
    for index, original in enumerate(originals):
        with context.device(None), context.device(worker):
            copy = variables.Variable(
                1.0,
                trainable=False,
                collections=[collections.GraphKeys.LOCAL_VARIABLES],
                validate_shape=False,
                name=name if len(originals) == 1 else f"{name}_shard_{index}",
                use_resource=False,
            )
        with context.control_dependencies(fills[-1:]):
            fills.append(state_ops.assign(copy, original, validate_shape=False).op)
        empties.append(state_ops.assign(copy, 1.0, validate_shape=False).op)
        held.append(copy)
    return Copies(held, fills[-1], control_flow_ops.group(*empties))
