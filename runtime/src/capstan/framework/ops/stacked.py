"""How an op computes all iterations of a loop at once, from inputs that are stacked along axis 0.

The rules of a loop without dependencies between iterations, as `tf.vectorized_map` has them
(python/ops/parallel_for/pfor.py). `stacked_layout`, `stacked_math` and `stacked_records` add the
rules of single ops. The op of a row whose shape rule says that it works element by element needs no
rule of its own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from capstan.framework import opdef
from capstan.framework.ops import rules


@dataclass(frozen=True, slots=True)
class Operand:
    """The values of a tensor in all iterations: stacked along a new axis 0, or one for all."""

    tensor: Any
    is_stacked: bool


class Loop(Protocol):
    """The loop for which a rule builds operations. `count` is its length, a scalar of int32.

    `retries`: if the operations fail, the caller runs the iterations one after the other.
    """

    raw: opdef.Raw
    count: Any
    retries: bool

    def again(self, op: Any, inputs: Sequence[Any], **attrs: Any) -> list[Any]:
        """Add a copy of an operation with other inputs and other attributes.

        Return its outputs.
        """


Operands = Sequence[Operand]
Rule = Callable[[Loop, Any, Operands], Sequence[Operand] | None]
"""Returns the outputs of an operation of the body, of which an input is stacked, for the operands
in place of its inputs. Returns None if the iterations must run one after the other."""

_RULES: dict[str, Rule] = {}


def define(rule: Rule, *names: str) -> None:
    """Give ops a rule."""
    for name in names:
        assert name not in _RULES, name
        _RULES[name] = rule


def rule_of(row: opdef.OpDef) -> Rule | None:
    """Return the rule of an op, or None."""
    found = _RULES.get(row.name)
    if found is not None or not row.is_pure:
        return found
    if row.shape is rules.broadcast or (row.shape is rules.unchanged and len(row.inputs) == 1):
        return elementwise
    return all_alike if row.shape is rules.merged else None


# --- the parts of rules


def stacked(outputs: Sequence[Any]) -> list[Operand]:
    return [Operand(tensor, True) for tensor in outputs]


def on_top(loop: Loop, operand: Operand) -> Any:
    """Return the operand as a stacked tensor."""
    if operand.is_stacked:
        return operand.tensor
    raw, tensor = loop.raw, operand.tensor
    rank = tensor.shape.ndims
    if rank is None:
        shape = joined(loop, [loop.count], raw.Shape(tensor))
        return raw.BroadcastTo(raw.ExpandDims(tensor, 0), shape)
    # GPUs tile integers, too, but have no kernel that broadcasts them.
    return raw.Tile(raw.ExpandDims(tensor, 0), raw.Pack([loop.count, *[1] * rank]))


def joined(loop: Loop, first: Any, rest: Any) -> Any:
    """Return `first`, a list of numbers and scalars, and the elements of `rest` as one vector."""
    raw = loop.raw
    head = [raw.Cast(each, DstT=rest.dtype) if hasattr(each, "dtype") else each for each in first]
    if not any(hasattr(each, "dtype") for each in head):
        return raw.ConcatV2([np.array(head, rest.dtype.as_numpy_dtype), rest], 0)
    return raw.ConcatV2([raw.Pack(head), rest], 0)


def from_axis(loop: Loop, vector: Any, start: int, count: int = -1) -> Any:
    """Return `count` elements of a vector, or all from `start` on."""
    return loop.raw.Slice(vector, [start], [count])


def next_axes(
    loop: Loop, op: Any, operands: Operands, places: tuple[int, int], more: int = 0
) -> Any:
    """Return the axes in an input as axes of a stacked tensor. Negative ones stay.

    `places` are the index of the input with the axes, and the index of the input that has these
    axes. The lowest valid axis is `-rank - more`. The operation refuses an axis that is not valid.
    """
    index, place = places
    known, rank = op.inputs[index].op.constant_value(), op.inputs[place].shape.ndims
    if known is not None and (rank is not None or (known >= 0).all()):
        return known + (known >= 0).astype(known.dtype)
    raw, axes = loop.raw, operands[index].tensor
    least = raw.Sub(int(operands[place].is_stacked) - more, raw.Rank(operands[place].tensor))
    # A stacked tensor has one axis more. An axis that is too low has to be one lower there, so that
    # the operation refuses it too.
    is_valid = raw.GreaterEqual(axes, raw.Cast(least, DstT=axes.dtype))
    step = raw.SelectV2(
        raw.GreaterEqual(axes, raw.ZerosLike(axes)), 1, raw.SelectV2(is_valid, 0, -1)
    )
    return raw.Add(axes, raw.Cast(step, DstT=axes.dtype))


def next_axis(axis: int, rank: int | None) -> int | None:
    """Return an axis as an axis of a stacked tensor.

    Return None if `rank` is not known. A negative axis may then be one axis too low.
    """
    return None if axis < 0 and rank is None else axis + (axis >= 0)


def of_rank(loop: Loop, operand: Operand, rank: int, wanted: int) -> Any:
    """Return the operand with axes of size 1 after axis 0, so that it broadcasts by iterations."""
    if not operand.is_stacked or rank == wanted:
        return operand.tensor
    raw = loop.raw
    shape = raw.Shape(operand.tensor)
    ones = np.ones(wanted - rank, np.int32)
    first, rest = from_axis(loop, shape, 0, 1), from_axis(loop, shape, 1)
    return raw.Reshape(operand.tensor, raw.ConcatV2([first, ones, rest], 0))


def elementwise(loop: Loop, op: Any, operands: Operands) -> list[Operand] | None:
    """The output at a place depends on the inputs at that place, which broadcast."""
    if len(operands) == 1:
        return stacked(loop.again(op, [operands[0].tensor]))
    ranks = [tensor.shape.ndims for tensor in op.inputs]
    if None in ranks:
        return None
    tensors = [
        of_rank(loop, operand, rank, max(ranks))
        for operand, rank in zip(operands, ranks, strict=True)
    ]
    return stacked(loop.again(op, tensors))


def all_alike(loop: Loop, op: Any, operands: Operands) -> list[Operand]:
    """All inputs may have more leading axes."""
    return stacked(loop.again(op, [on_top(loop, operand) for operand in operands]))


def only_first(loop: Loop, op: Any, operands: Operands) -> list[Operand] | None:
    """Input 0 may have more leading axes. The others are parameters."""
    first, *rest = operands
    if any(operand.is_stacked for operand in rest):
        return None
    return stacked(loop.again(op, [first.tensor, *(operand.tensor for operand in rest)]))


def of_known_ranks(rule: Rule) -> Rule:
    """Return `rule` as a rule that needs inputs of known ranks.

    A stacked tensor has one axis more. So an operation would not refuse a stacked tensor whose
    slices have one axis too few.
    """

    def checked(loop: Loop, op: Any, operands: Operands) -> Sequence[Operand] | None:
        is_known = all(tensor.shape.ndims is not None for tensor in op.inputs)
        return rule(loop, op, operands) if is_known else None

    return checked


def one_by_one(loop: Loop, op: Any, operands: Operands) -> None:
    """The output depends on the whole input, though its shape is that of the input."""


def in_one_batch(*places: int) -> Rule:
    """Return the rule of an op whose inputs at `places` have examples along their first axis.

    The examples of all iterations become one batch. The other inputs are parameters.
    """

    def rule(loop: Loop, op: Any, operands: Operands) -> list[Operand] | None:
        raw = loop.raw
        tensors, sizes = [], None
        for place, operand in enumerate(operands):
            if place not in places:
                if operand.is_stacked:
                    return None
                tensors.append(operand.tensor)
                continue
            tensor = on_top(loop, operand)
            sizes = from_axis(loop, raw.Shape(tensor), 0, 2)
            tensors.append(merged(loop, tensor))
        return stacked([split(loop, output, sizes) for output in loop.again(op, tensors)])

    return rule


def merged(loop: Loop, tensor: Any) -> Any:
    """Return a tensor whose first two axes have become one."""
    raw = loop.raw
    shape = raw.Shape(tensor)
    rows = raw.Prod(from_axis(loop, shape, 0, 2), [0], keep_dims=True)
    return raw.Reshape(tensor, raw.ConcatV2([rows, from_axis(loop, shape, 2)], 0))


def split(loop: Loop, tensor: Any, sizes: Any) -> Any:
    """Return a tensor whose first axis has become two, of these sizes."""
    raw = loop.raw
    rest = from_axis(loop, raw.Shape(tensor), 1)
    return raw.Reshape(tensor, raw.ConcatV2([sizes, rest], 0))
