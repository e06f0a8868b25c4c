"""Rows of the ops that write tensors to the dump folders of a debugger.

The compiler adds them to a step whose RunOptions watch tensors (`graph.watched`). TensorFlow has a
Copy and a debug op in their place, and the debug op writes the file. No client sends these ops.
"""

import math
from typing import Any, Final

from capstan.core import dtypes, tensor_shape
from capstan.core import node as ir
from capstan.framework import facts
from capstan.framework.opdef import OpDef, define
from capstan.framework.ops import rules

IDENTITY: Final = "DebugIdentity"
"""The debug op that dumps the tensor itself."""
INSPECTIONS: Final = frozenset(("DebugNanCount", "DebugNumericSummary"))
"""The debug ops whose result is dumped."""
BOUNDS: Final = ("lower_bound", "upper_bound")
"""The attributes of `DebugNumericSummary` that `_DumpRef` has too, because it computes it."""

_ATTRS: dict[str, Any] = {
    "device_name": bytes,
    "node_name": bytes,
    "output_slot": int,
    "debug_op": bytes,
    "target": int,
    "mute_if_healthy": False,
}
_REF_ATTRS: dict[str, Any] = {
    **_ATTRS,
    "lower_bound": -math.inf,
    "upper_bound": math.inf,
    "shape": tensor_shape.TensorShape(None),
}
for _name, _input, _declared, _effect in (
    ("_Dump", "input: T", _ATTRS, facts.EXTERNAL),
    ("_DumpRef", "input: Ref(T)", _REF_ATTRS, facts.reads("input") | facts.EXTERNAL),
):
    define(
        OpDef(
            _name,
            (_input, "targets: string"),
            attrs=_declared,
            shape=rules.nothing,
            not_differentiable=True,
            effect=_effect,
            host=("input", "targets"),
        )
    )


def targets(name: str, device: str) -> ir.Node:
    """Return the node that is fed with the URLs of each target: a vector of strings."""
    return ir.Node(name, "Placeholder", (), (), device, {"dtype": dtypes.string})


def dump(
    name: str,
    edge: ir.Edge,
    dtype: dtypes.DType,
    fed: ir.Edge,
    device: str,
    attrs: dict[str, Any],
    *,
    is_ref: bool,
) -> ir.Node:
    """Return a node that writes `edge`. `fed` is the output of `targets`.

    `attrs` has the attributes of the op, which say where the file belongs.
    """
    op = "_DumpRef" if is_ref else "_Dump"
    return ir.Node(name, op, (edge, fed), (), device, {**attrs, "T": dtype})


def inspected(
    name: str, op: str, edge: ir.Edge, dtype: dtypes.DType, device: str, attrs: dict[str, Any]
) -> ir.Node:
    """Return a debug op, such as `DebugNanCount`, on `edge`."""
    return ir.Node(name, op, (edge,), (), device, {**attrs, "T": dtype})
