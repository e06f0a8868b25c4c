"""TensorFlow 1's functions that reverse and sort.

Sources: python/ops/array_ops.py, sort_ops.py, nn_ops.py.
"""

from typing import Any

from capstan.api import deprecation
from capstan.api.scoped import scoped
from capstan.framework import convert
from capstan.framework.raw import raw

__all__ = [
    "argsort", "reverse", "reverse_sequence", "reverse_v2", "sort",
]  # fmt: skip


def reverse(tensor: Any, axis: Any, name: str | None = None) -> Any:
    """Reverse the order of the elements along each axis in the list `axis`."""
    return raw.ReverseV2(tensor, axis, name=name)


reverse_v2 = reverse


def reverse_sequence(
    input: Any,
    seq_lengths: Any,
    seq_axis: int | None = None,
    batch_axis: int | None = None,
    name: str | None = None,
    seq_dim: int | None = None,
    batch_dim: int | None = None,
) -> Any:
    """Reverse the first `seq_lengths[i]` elements of sequence i along `seq_axis`.

    `seq_dim` and `batch_dim` are older names of the axes. `batch_axis` is 0 by default.

    Raises:
        ValueError: there is no axis of the sequences, or one is given under both names.
    """
    along = deprecation.deprecated_argument_lookup("seq_axis", seq_axis, "seq_dim", seq_dim)
    batch = deprecation.deprecated_argument_lookup("batch_axis", batch_axis, "batch_dim", batch_dim)
    if along is None:
        raise ValueError("seq_axis must be given: the axis of the sequences")
    return raw.ReverseSequence(input, seq_lengths, seq_dim=along, batch_dim=batch or 0, name=name)


def sort(values: Any, axis: int = -1, direction: str = "ASCENDING", name: str | None = None) -> Any:
    """Sort the elements along an axis. `direction` is ASCENDING or DESCENDING.

    Raises:
        ValueError: the direction is unknown, there is no such axis, or the rank is unknown and the
            axis is not -1.
    """
    with scoped(name, "sort", (values,)):
        return _sorted(values, axis, direction)[0]


def argsort(
    values: Any,
    axis: int = -1,
    direction: str = "ASCENDING",
    stable: bool = False,
    name: str | None = None,
) -> Any:
    """Return the places of the elements in sorted order along an axis. Equal elements keep order.

    Raises:
        ValueError: the direction is unknown, there is no such axis, or the rank is unknown and the
            axis is not -1.
    """
    with scoped(name, "argsort", (values,)):
        return _sorted(values, axis, direction)[1]


def _sorted(values: Any, axis: int, direction: str) -> tuple[Any, Any]:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"direction should be one of ASCENDING, DESCENDING, not {direction!r}")
    values = convert.convert_to_tensor(values, name="values")
    rank = values.shape.ndims
    if rank == 0 or (rank is None and axis != -1):
        raise ValueError(
            "values must have a rank of at least 1 to be sorted, and a known rank for any axis "
            "but -1"
        )
    last = [*range(rank or 1)]
    if not -len(last) <= axis < len(last):
        raise ValueError(f"axis {axis} is not one of the {len(last)} axes of values")
    last[axis], last[-1] = last[-1], last[axis]
    moved = values if last[-1] == len(last) - 1 else raw.Transpose(values, last)
    is_rising = direction == "ASCENDING"
    # TopKV2 sorts downwards. The negative values of floats and signed integers sort upwards.
    keys = raw.Neg(moved) if is_rising else moved
    found, places = raw.TopKV2(keys, raw.Shape(moved)[-1])
    found = raw.Neg(found) if is_rising else found
    if moved is values:
        return found, places
    return raw.Transpose(found, last), raw.Transpose(places, last)


def nth_element(input: Any, n: Any, reverse: bool = False, name: str | None = None) -> Any:
    """Return element `n` of each row, as if the rows were sorted, or sorted downwards if `reverse`.

    The rows are along the last axis, which the result lacks. `n` is a scalar of int32, and 0 stands
    for the smallest element. NaN counts as larger than all numbers. If elements of a row are equal,
    they share the gradient.
    """
    return raw.NthElement(input, n, reverse=reverse, name=name)
