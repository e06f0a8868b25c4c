"""Operations that are found by walks through a graph (contrib/graph_editor/select.py).

Seeds are operations, or tensors, which stand for the operations that read or produce them. The
results are in the order in which the walk finds them.
"""

from collections.abc import Callable, Iterable
from typing import Any

from capstan.contrib.graph_editor import elements, filters
from capstan.framework import graph as graphs

__all__ = [
    "get_backward_walk_ops", "get_forward_walk_ops", "get_walks_intersection_ops",
    "get_walks_union_ops", "get_within_boundary_ops",
]  # fmt: skip


def get_within_boundary_ops(
    ops: Any,
    seed_ops: Any,
    boundary_ops: Any = (),
    inclusive: bool = True,
    control_inputs: bool = False,
    control_outputs: Any = None,
    control_ios: Any = None,
) -> list[Any]:
    """Return the operations of `ops` that are connected to seeds without crossing the boundary.

    If `inclusive`, the operations of the boundary that were met are included.

    Raises:
        TypeError: an argument is not a list of operations.
        ValueError: a seed belongs to the boundary.
    """
    cios = filters.check_cios(control_inputs, control_outputs, control_ios)
    wave = elements.make_list_of_op(seed_ops, allow_graph=False)
    boundary = set(elements.make_list_of_op(boundary_ops))
    found = set(wave)
    if boundary & found:
        raise ValueError("Boundary is intersecting with the seeds.")
    while wave:
        met = [op for op in filters.get_ops_ios(wave, *cios) if op not in found]
        wave = [op for op in met if op not in boundary]
        found.update(met if inclusive else wave)
    return [op for op in elements.make_list_of_op(ops) if op in found]


def get_forward_walk_ops(
    seed_ops: Any,
    inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Callable[[Any], Any] | None = None,
    stop_at_ts: Any = (),
    control_outputs: Any = None,
) -> list[Any]:
    """Return the operations that depend on the seeds, and the seeds if `inclusive`.

    The walk stays in `within_ops`, and where `within_ops_fn(op)` is true. It does not follow the
    tensors `stop_at_ts`. It follows control inputs if there is a ControlOutputs.

    Raises:
        TypeError: an argument is not a list of operations or of tensors.
    """
    _, control_outputs = filters.check_cios(False, control_outputs)
    stops = set(elements.make_list_of_t(stop_at_ts))

    def following(op: Any) -> Iterable[Any]:
        for tensor in op.outputs:
            if tensor not in stops:
                yield from tensor.consumers()
        if control_outputs is not None:
            yield from control_outputs.get(op)

    return _walk(
        seed_ops, elements.get_consuming_ops, following, inclusive, within_ops, within_ops_fn
    )


def get_backward_walk_ops(
    seed_ops: Any,
    inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Callable[[Any], Any] | None = None,
    stop_at_ts: Any = (),
    control_inputs: bool = False,
) -> list[Any]:
    """Return the operations that the seeds depend on, and the seeds if `inclusive`.

    The walk stays in `within_ops`, and where `within_ops_fn(op)` is true. It does not follow the
    tensors `stop_at_ts`. It follows control inputs if `control_inputs`.

    Raises:
        TypeError: an argument is not a list of operations or of tensors.
    """
    stops = set(elements.make_list_of_t(stop_at_ts))

    def preceding(op: Any) -> Iterable[Any]:
        yield from (tensor.op for tensor in op.inputs if tensor not in stops)
        if control_inputs:
            yield from op.control_inputs

    return _walk(
        seed_ops, elements.get_generating_ops, preceding, inclusive, within_ops, within_ops_fn
    )


def get_walks_intersection_ops(
    forward_seed_ops: Any,
    backward_seed_ops: Any,
    forward_inclusive: bool = True,
    backward_inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Callable[[Any], Any] | None = None,
    control_inputs: bool = False,
    control_outputs: Any = None,
    control_ios: Any = None,
) -> list[Any]:
    """Return the operations that a forward walk and a backward walk both find.

    `get_forward_walk_ops` and `get_backward_walk_ops` explain the arguments.
    """
    ahead, behind = _both_walks(
        (forward_seed_ops, forward_inclusive),
        (backward_seed_ops, backward_inclusive),
        (within_ops, within_ops_fn),
        filters.check_cios(control_inputs, control_outputs, control_ios),
    )
    known = set(behind)
    return [op for op in ahead if op in known]


def get_walks_union_ops(
    forward_seed_ops: Any,
    backward_seed_ops: Any,
    forward_inclusive: bool = True,
    backward_inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Callable[[Any], Any] | None = None,
    control_inputs: bool = False,
    control_outputs: Any = None,
    control_ios: Any = None,
) -> list[Any]:
    """Return the operations that a forward walk or a backward walk finds.

    `get_forward_walk_ops` and `get_backward_walk_ops` explain the arguments.
    """
    ahead, behind = _both_walks(
        (forward_seed_ops, forward_inclusive),
        (backward_seed_ops, backward_inclusive),
        (within_ops, within_ops_fn),
        filters.check_cios(control_inputs, control_outputs, control_ios),
    )
    return elements.concatenate_unique(ahead, behind)


def _both_walks(
    forward: tuple[Any, bool],
    backward: tuple[Any, bool],
    within: tuple[Any, Callable[[Any], Any] | None],
    control: tuple[bool, Any],
) -> tuple[list[Any], list[Any]]:
    """Return the operations of a forward walk, and those of a backward walk.

    Each walk has its seeds and whether they count. `control` has what `filters.check_cios` returns.
    """
    control_inputs, control_outputs = control
    return (
        get_forward_walk_ops(*forward, *within, (), control_outputs),
        get_backward_walk_ops(*backward, *within, (), control_inputs),
    )


def _walk(
    given: Any,
    of_tensors: Callable[[Any], list[Any]],
    neighbours: Callable[[Any], Iterable[Any]],
    inclusive: bool,
    within_ops: Any,
    within_ops_fn: Callable[[Any], Any] | None,
) -> list[Any]:
    """Return the seeds and the operations that can be reached by `neighbours`, nearest first."""
    given = list(given) if elements.is_iterable(given) else [given]
    if given and isinstance(given[0], graphs.Tensor):
        seeds = of_tensors(given)
    else:
        seeds = elements.make_list_of_op(given, allow_graph=False)
    within = None
    if within_ops is not None:
        within = set(elements.make_list_of_op(within_ops, allow_graph=False))
        # As in TensorFlow, an empty list ends the walk at the seeds, and does not drop them.
        seeds = [op for op in seeds if not within or op in within]
    wave = dict.fromkeys(seeds)
    found = dict(wave)
    while wave:
        met = dict.fromkeys(each for op in wave for each in neighbours(op) if each not in found)
        wave = {
            op: None
            for op in met
            if (within is None or op in within) and (within_ops_fn is None or within_ops_fn(op))
        }
        found.update(wave)
    return list(found)[0 if inclusive else len(set(seeds)) :]
