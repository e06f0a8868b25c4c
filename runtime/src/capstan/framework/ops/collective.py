"""Rows of the ops that devices of several tasks compute together (core/ops/collective_ops.cc)."""

from capstan.core import dtypes, shapes, tensor_shape
from capstan.core import node as ir
from capstan.framework import facts
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules

GRAPH_KEY = "_collective_graph_key"
"""The attribute with which the compiler tells a node the key of the step's graph."""

_TYPES = {"T": (dtypes.float32, dtypes.float16, dtypes.float64, dtypes.int32, dtypes.int64)}
_KEYS = {"group_size": int, "group_key": int, "instance_key": int}


def instance_key(node: ir.Node) -> int:
    """Return the key of the instance to which a node belongs."""
    return int(node.attrs["instance_key"])


def _gathered(ctx: ShapeContext) -> list[shapes.Shape]:
    shape = ctx.inputs[0]
    if shape is None:
        return [None]
    if not shape:
        raise ValueError("Shape must be at least rank 1 but is rank 0")
    rows = None if shape[0] is None else shape[0] * ctx.attrs["group_size"]
    return [(rows, *shape[1:])]


define(
    OpDef(
        "CollectiveReduce",
        ("input: T",),
        ("data: T",),
        attrs={
            **_KEYS,
            "merge_op": bytes,
            "final_op": bytes,
            "subdiv_offsets": list,
            "wait_for": [],
            "communication_hint": b"auto",
        },
        choices={
            "merge_op": (b"Min", b"Max", b"Mul", b"Add"),
            "final_op": (b"Id", b"Div"),
        },
        shape=rules.unchanged,
        types=_TYPES,
        effect=facts.BLOCKS,
        role=facts.Role.COLLECTIVE,
    )
)
define(
    OpDef(
        "CollectiveGather",
        ("input: T",),
        ("data: T",),
        attrs={**_KEYS, "shape": tensor_shape.TensorShape, "communication_hint": b"auto"},
        shape=_gathered,
        types=_TYPES,
        effect=facts.BLOCKS,
        role=facts.Role.COLLECTIVE,
    )
)
define(
    OpDef(
        "CollectiveBcastSend",
        ("input: T",),
        ("data: T",),
        attrs={**_KEYS, "shape": tensor_shape.TensorShape, "communication_hint": b"auto"},
        shape=rules.from_attribute,
        types=_TYPES,
        effect=facts.BLOCKS,
        role=facts.Role.COLLECTIVE,
    )
)
define(
    OpDef(
        "CollectiveBcastRecv",
        (),
        ("data: T",),
        attrs={
            "T": dtypes.DType,
            **_KEYS,
            "shape": tensor_shape.TensorShape,
            "communication_hint": b"auto",
        },
        shape=rules.from_attribute,
        types=_TYPES,
        effect=facts.BLOCKS,
        role=facts.Role.COLLECTIVE,
    )
)
