"""How the tasks of a group exchange the tensors of one run of a collective operation.

TensorFlow: common_runtime/{ring_reducer,ring_gatherer,hierarchical_tree_broadcaster}.cc. Each task
takes part once, whatever the number of its devices. Its `rank` is its place in the order of the
tasks. Every task asks others for their tensors (`Exchange.fetch`), and offers its own.

A sum of a few small tensors is added by every task, from the tensors of all tasks in the order of
the ranks. A large tensor goes around a ring in parts: each task adds its part to those that arrive,
and the sums go around once more. All tasks get the same bits in both ways.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from capstan import errors
from capstan.core.arrays import Array

_DIRECT_BYTES = 1 << 15
"""A tensor up to this size goes to every task at once. The number is a guess."""

Combine = Callable[..., Any]
"""A function of NumPy that combines two arrays, such as `np.add`."""


class Exchange(Protocol):
    """Gives tensors to the other tasks of a run and gets theirs, by rank and name."""

    @property
    def rank(self) -> int:
        """The rank of this task."""

    @property
    def count(self) -> int:
        """The number of tasks."""

    def offer(self, name: str, value: Array, readers: int) -> None:
        """Offer a tensor, which must not change before all readers have it."""

    def fetch(self, names: Sequence[tuple[int, str]], take: Callable[[int, Array], None]) -> None:
        """Call `take(position, tensor)` for each pair of a rank and a name, in this order.

        The tensor is valid during the call. Raises the error of the run.
        """


def reduce(exchange: Exchange, value: Array, combine: Combine) -> Array:
    """Return a new array that combines the tensors of all tasks.

    Raises:
        InvalidArgumentError: the tensor of another task has another shape or dtype.
    """
    if exchange.count == 2 or value.nbytes <= _DIRECT_BYTES:
        return _reduce_directly(exchange, value, combine)
    return _reduce_around(exchange, value, combine)


def gather(exchange: Exchange, value: Array) -> list[Array]:
    """Return the tensors of all tasks, in the order of the ranks.

    Raises:
        InvalidArgumentError: the tensor of another task does not fit.
    """
    exchange.offer("all", value.copy(), exchange.count - 1)
    found: list[Array] = [value] * exchange.count
    others = _others(exchange)

    def take(position: int, other: Array) -> None:
        if other.dtype != value.dtype or other.shape[1:] != value.shape[1:]:
            raise _differ(value, other, others[position])
        found[others[position]] = other.copy()

    exchange.fetch([(rank, "all") for rank in others], take)
    return found


def broadcast(exchange: Exchange, value: Array | None, root: int) -> Array:
    """Return the tensor of the task `root`, which has it as `value`.

    Task `n` after the root gets the tensor from the task whose distance is `n` without its highest
    bit, and gives it to the tasks of which this holds for `n`.
    """
    place = (exchange.rank - root) % exchange.count
    got = value
    if place:

        def take(_: int, other: Array) -> None:
            nonlocal got
            got = other.copy()

        parent = place - (1 << (place.bit_length() - 1))
        exchange.fetch([((parent + root) % exchange.count, "all")], take)
    assert got is not None
    readers = sum(
        place + (1 << bit) < exchange.count
        for bit in range(place.bit_length(), exchange.count.bit_length())
    )
    if readers:
        exchange.offer("all", got.copy(), readers)
    return got


def _others(exchange: Exchange) -> list[int]:
    return [rank for rank in range(exchange.count) if rank != exchange.rank]


def _reduce_directly(exchange: Exchange, value: Array, combine: Combine) -> Array:
    exchange.offer("all", value.copy(), exchange.count - 1)
    others = _others(exchange)
    total = value if exchange.rank == 0 else None

    def take(position: int, other: Array) -> None:
        nonlocal total
        _require_equal(value, other, others[position])
        total = other.copy() if total is None else combine(total, other)
        if others[position] == exchange.rank - 1:
            total = combine(total, value)

    exchange.fetch([(rank, "all") for rank in others], take)
    return np.asarray(total)


def _reduce_around(exchange: Exchange, value: Array, combine: Combine) -> Array:
    rank, count = exchange.rank, exchange.count
    total = np.ascontiguousarray(value).copy()
    chunks = np.array_split(total.reshape(-1), count)
    left = (rank - 1) % count
    # A part is overwritten below only when its sum has come back, so the reader has had the part.
    for step in range(count - 1):
        mine = chunks[(rank - step - 1) % count]
        exchange.offer(f"part{step}", chunks[(rank - step) % count], 1)

        def add(_: int, other: Array, mine: Array = mine) -> None:
            _require_equal(mine, other, left)
            combine(other, mine, out=mine)

        exchange.fetch([(left, f"part{step}")], add)
    for step in range(count - 1):
        mine = chunks[(rank - step) % count]
        exchange.offer(f"sum{step}", chunks[(rank + 1 - step) % count].copy(), 1)

        def put(_: int, other: Array, mine: Array = mine) -> None:
            np.copyto(mine, other)

        exchange.fetch([(left, f"sum{step}")], put)
    return total


def _require_equal(value: Array, other: Array, rank: int) -> None:
    if other.shape != value.shape or other.dtype != value.dtype:
        raise _differ(value, other, rank)


def _differ(value: Array, other: Array, rank: int) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(
        None,
        None,
        f"Shape mismatch in a collective op: this task has a tensor of {value.dtype} and shape "
        f"{list(value.shape)}, but task {rank} of the group has one of {other.dtype} and shape "
        f"{list(other.shape)}. The members of a collective op need inputs of the same shape.",
    )
