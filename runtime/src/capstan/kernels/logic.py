"""Kernels of comparisons, logic and selection by a condition."""

from collections.abc import Sequence

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels import rows, stacking
from capstan.kernels.arithmetic import constantly
from capstan.kernels.choice import choose
from capstan.kernels.memory import beside, is_on_host, on_host, put_rows
from capstan.kernels.registry import Columns, Join, Joined, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid


def _select(condition: Array, x: Array, y: Array, out: Array | None = None) -> Array:
    """Return the elements of `x` where the condition is true, and the elements of `y` elsewhere.

    A condition that is a vector selects whole rows if `x` has more dimensions.
    """
    if x.shape != y.shape:
        raise invalid(
            f"Inputs must have the same size and shape, but are {show(x.shape)} and {show(y.shape)}"
        )
    rank = len(condition.shape)
    if rank == 1 and len(x.shape) > 1:
        if condition.shape[0] != x.shape[0]:
            raise invalid(
                f"Number of batches of 'then' must match size of 'cond', but saw: {x.shape[0]} vs. "
                f"{condition.shape[0]}"
            )
        if is_on_host(x):
            return _select_rows(on_host(condition), x, y, out)
        condition = condition.reshape(-1, *(1,) * (x.ndim - 1))
    elif rank and condition.shape != x.shape:
        raise invalid(
            f"'cond' must have the shape of 'then', but they are {show(condition.shape)} and "
            f"{show(x.shape)}"
        )
    return _select_v2(condition, x, y, out)


def _select_rows(condition: Array, x: Array, y: Array, out: Array | None) -> Array:
    if out is None:
        out = y.copy()
    else:
        np.copyto(out, y)
    chosen = condition.nonzero()[0]
    if len(chosen):
        put_rows(out, chosen, rows.taken(x, chosen))
    return out


def _select_of_several(nodes: Sequence[NodeContext]) -> Joined:
    def select(
        conditions: Sequence[Array], xs: Sequence[Array], ys: Sequence[Array]
    ) -> Columns | None:
        if not stacking.are_vectors(conditions) or not stacking.have_same_shapes(xs, ys):
            return None
        blocks = stacking.Blocks.of(ys)
        if not blocks.match(stacking.Blocks.of(conditions)):
            return None
        chosen = stacking.stacked(conditions).nonzero()[0]
        if type(ys) is stacking.Column and not len(chosen):
            return (ys,) if ys.stacked.ndim > 1 else None
        selected = np.concatenate(ys)
        if selected.ndim < 2:
            return None
        if len(chosen):
            put_rows(selected, chosen, rows.taken(stacking.stacked(xs), chosen))
        return (stacking.Column(blocks, selected),)

    return select


def _select_v2(condition: Array, x: Array, y: Array, out: Array | None = None) -> Array:
    try:
        chosen: Array = choose(beside(condition, x), x, y, out)
    except ValueError:
        given = f"condition {show(condition.shape)}, then {show(x.shape)}, and else {show(y.shape)}"
        raise invalid(f"{given} must be broadcastable") from None
    return chosen


def _where(condition: Array) -> Array:
    if not condition.ndim:
        raise invalid("WhereOp : Unhandled input dimensions: 0")
    return np.argwhere(condition).astype(np.int64, copy=False)


for _op, _function, _operator in (
    ("Equal", np.equal, "=="),
    ("NotEqual", np.not_equal, "!="),
    ("Less", np.less, "<"),
    ("LessEqual", np.less_equal, "<="),
    ("Greater", np.greater, ">"),
    ("GreaterEqual", np.greater_equal, ">="),
    ("LogicalAnd", np.logical_and, "&"),
    ("LogicalOr", np.logical_or, "|"),
    ("LogicalNot", np.logical_not, ""),
    ("SelectV2", _select_v2, ""),
):
    register(Kernel(_op, constantly(_function), out=True, operator=_operator))
register(Kernel("Select", constantly(_select), out=True, join=Join(_select_of_several)))
register(Kernel("Where", constantly(_where)))
