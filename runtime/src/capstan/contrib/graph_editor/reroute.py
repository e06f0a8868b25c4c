"""Operations that read other tensors than before (contrib/graph_editor/reroute.py).

An operation always keeps its outputs. What changes is which tensors the operations that read them
read. A session that has run such an operation keeps it as it was, and warns at its next run.
"""

import enum
from typing import Any

from capstan.contrib.graph_editor import elements, subgraph
from capstan.framework import graph as graphs

__all__ = [
    "add_control_inputs", "remove_control_inputs", "reroute_inputs", "reroute_ios",
    "reroute_outputs", "reroute_ts", "swap_inputs", "swap_ios", "swap_outputs", "swap_ts",
]  # fmt: skip


class _Mode(enum.Enum):
    SWAP = enum.auto()
    """The readers of the first tensor read the second one, and the other way round."""
    REROUTE = enum.auto()
    """The readers of the second tensor read the first one."""


def swap_ts(ts0: Any, ts1: Any, can_modify: Any = None, cannot_modify: Any = None) -> int:
    """Make what reads each tensor of `ts0` read that of `ts1`, and the other way round.

    Only operations of `can_modify`, by default all, and none of `cannot_modify` are changed. Return
    the number of changed inputs.

    Raises:
        TypeError: an argument is not a list of tensors or of operations.
        ValueError: two tensors have different types or static shapes.
    """
    return _reroute_ts(ts0, ts1, _Mode.SWAP, can_modify, cannot_modify)


def reroute_ts(ts0: Any, ts1: Any, can_modify: Any = None, cannot_modify: Any = None) -> int:
    """Make what reads each tensor of `ts1` read that of `ts0`. `swap_ts` explains the rest."""
    return _reroute_ts(ts0, ts1, _Mode.REROUTE, can_modify, cannot_modify)


def swap_inputs(sgv0: Any, sgv1: Any) -> tuple[Any, Any]:
    """Exchange the inputs of two views, or of what `make_view` takes. Return the views."""
    return _reroute_inputs(sgv0, sgv1, _Mode.SWAP)


def reroute_inputs(sgv0: Any, sgv1: Any) -> tuple[Any, Any]:
    """Give the second view the inputs of the first one. Return the views."""
    return _reroute_inputs(sgv0, sgv1, _Mode.REROUTE)


def swap_outputs(sgv0: Any, sgv1: Any) -> tuple[Any, Any]:
    """Exchange the outputs of two views for all operations outside of them. Return the views."""
    return _reroute_outputs(sgv0, sgv1, _Mode.SWAP)


def reroute_outputs(sgv0: Any, sgv1: Any) -> tuple[Any, Any]:
    """Make what reads the outputs of the second view read those of the first. Return the views."""
    return _reroute_outputs(sgv0, sgv1, _Mode.REROUTE)


def swap_ios(sgv0: Any, sgv1: Any) -> tuple[Any, Any]:
    """Exchange the outputs, and then the inputs, of two views. Return the views."""
    return _reroute_inputs(*_reroute_outputs(sgv0, sgv1, _Mode.SWAP), _Mode.SWAP)


def reroute_ios(sgv0: Any, sgv1: Any) -> tuple[Any, Any]:
    """Put the first view in place of the second one: reroute outputs, then inputs.

    Return the views.
    """
    return _reroute_inputs(*_reroute_outputs(sgv0, sgv1, _Mode.REROUTE), _Mode.REROUTE)


def remove_control_inputs(op: Any, cops: Any) -> None:
    """Make `op` no longer wait for the operations `cops`.

    Raises:
        TypeError: `op` is not an operation, or `cops` is not a list of operations.
        ValueError: `op` does not wait for one of them.
    """
    for cop in (listed := _control_inputs(op, cops)):
        if cop not in op.control_inputs:
            raise ValueError(f"{cop.name} is not a control_input of {op.name}")
    kept = [cop for cop in op.control_inputs if cop not in listed]
    if listed:
        with op.graph.changing(op, is_edit=True):
            op._remove_all_control_inputs()
            op._add_control_inputs(kept)


def add_control_inputs(op: Any, cops: Any) -> None:
    """Make `op` wait for the operations `cops`.

    Raises:
        TypeError: `op` is not an operation, or `cops` is not a list of operations.
        ValueError: `op` waits for one of them already.
    """
    for cop in (listed := _control_inputs(op, cops)):
        if cop in op.control_inputs:
            raise ValueError(f"{cop.name} is already a control_input of {op.name}")
    if listed:
        with op.graph.changing(op, is_edit=True):
            op._add_control_inputs(listed)


def _control_inputs(op: Any, cops: Any) -> list[Any]:
    if not isinstance(op, graphs.Operation):
        raise TypeError(f"Expected a tf.Operation, got: {type(op)}")
    return elements.make_list_of_op(cops, allow_graph=False)


def _reroute_ts(
    ts0: Any, ts1: Any, mode: _Mode, can_modify: Any = None, cannot_modify: Any = None
) -> int:
    ts0, ts1 = elements.make_list_of_t(ts0), elements.make_list_of_t(ts1)
    _check_compatible(ts0, ts1)
    allowed = None if can_modify is None else set(elements.make_list_of_op(can_modify))
    refused = set() if cannot_modify is None else set(elements.make_list_of_op(cannot_modify))

    # All readers are those of before the first change, because a tensor may occur in several pairs.
    changes: dict[tuple[Any, int], Any] = {}
    pairs = list(zip(ts0, ts1, strict=True))
    for new, old in pairs if mode is _Mode.REROUTE else [*pairs, *zip(ts1, ts0, strict=True)]:
        for op in {} if new is old else dict.fromkeys(old.consumers()):
            if op in refused or (allowed is not None and op not in allowed):
                continue
            for index, tensor in enumerate(op.inputs):
                if tensor is old:
                    changes.setdefault((op, index), new)
    for (op, index), new in changes.items():
        with op.graph.changing(op, is_edit=True):
            op._update_input(index, new)
    return len(changes)


def _check_compatible(ts0: list[Any], ts1: list[Any]) -> None:
    if len(ts0) != len(ts1):
        raise ValueError(f"ts0 and ts1 have different sizes: {len(ts0)} != {len(ts1)}")
    for t0, t1 in zip(ts0, ts1, strict=True):
        if t0.graph is not t1.graph:
            raise ValueError(f"{t0.name} and {t1.name} belong to different graphs")
        if not t0.dtype.is_compatible_with(t1.dtype):
            raise ValueError(f"Dtypes {t0.dtype} and {t1.dtype} are not compatible.")
        if not t0.shape.is_compatible_with(t1.shape):
            raise ValueError(f"Shapes {t0.shape} and {t1.shape} are not compatible.")


def _reroute_inputs(sgv0: Any, sgv1: Any, mode: _Mode) -> tuple[Any, Any]:
    sgv0, sgv1 = subgraph.make_view(sgv0), subgraph.make_view(sgv1)
    elements.check_graphs(sgv0, sgv1)
    passing = [*sgv0.passthroughs, *sgv1.passthroughs]
    changeable = [*sgv0.ops, *sgv1.ops, *elements.get_consuming_ops(passing)]
    _reroute_ts(sgv0.inputs, sgv1.inputs, mode, can_modify=changeable)
    _remap_inputs(sgv0, sgv1, mode)
    return sgv0, sgv1


def _remap_inputs(sgv0: Any, sgv1: Any, mode: _Mode) -> None:
    """Give the views the inputs that their operations have after a change, in place."""
    old0, old1 = sgv0.copy(), sgv1.copy()
    for target, source, old in ((sgv1, old0, old1), (sgv0, old1, old0)):
        if target is sgv1 or mode is _Mode.SWAP:
            target._input_ts = list(source._input_ts)
            target._passthrough_ts = list(source._passthrough_ts)
            renamed = dict(zip(old._input_ts, target._input_ts, strict=True))
            passing = set(old._passthrough_ts)
            target._output_ts = [renamed.get(t, t) if t in passing else t for t in old._output_ts]


def _reroute_outputs(sgv0: Any, sgv1: Any, mode: _Mode) -> tuple[Any, Any]:
    sgv0, sgv1 = subgraph.make_view(sgv0), subgraph.make_view(sgv1)
    elements.check_graphs(sgv0, sgv1)
    _reroute_ts(sgv0.outputs, sgv1.outputs, mode, cannot_modify=[*sgv0.ops, *sgv1.ops])
    return sgv0, sgv1
