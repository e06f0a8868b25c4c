"""Rows of queues (tensorflow/core/ops/data_flow_ops.cc).

Each op exists twice. The older op of TensorFlow 1 takes a reference to the queue, and the newer op
(`V2`) takes a handle. TensorFlow does not have `SerializeQueue` and `DeserializeQueue`. Their
matrix has a row for each element and a column for each component, which is a TensorProto.

`_QueueDequeueRows` takes one element, and up to `n` if there are more and the queue `sink` wants
them. If its step fails, the elements go back. No client sends it: a step that takes several
elements in place of one has it (`services.rows`).
"""

from capstan.framework import facts
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules

_QUEUE = {
    "component_types": list,
    "shapes": [],
    "capacity": -1,
}
_NAMES = {"container": b"", "shared_name": b""}
_QUEUES = {
    "FIFOQueue": {**_QUEUE, **_NAMES},
    "PaddingFIFOQueue": {**_QUEUE, **_NAMES},
    "PriorityQueue": {**_QUEUE, "component_types": [], "shapes": list, **_NAMES},
    "RandomShuffleQueue": {**_QUEUE, "min_after_dequeue": 0, "seed": 0, "seed2": 0, **_NAMES},
}


def _reference(ctx: ShapeContext) -> rules.Shapes:
    return ((2,),)


def _unknown(ctx: ShapeContext) -> rules.Shapes:
    return (None,) * len(ctx.attrs["component_types"])


def _batched(ctx: ShapeContext) -> rules.Shapes:
    value = ctx.constant(1)
    if value is not None and value.size == 1 and value.item() < 0:
        raise ValueError(f"Input 'n' must be >= 0, but is {value.item()}")
    return _unknown(ctx)


def _matrix(ctx: ShapeContext) -> rules.Shapes:
    return ((None, None), ())


for _version, _type, _shape in (("", "Ref(string)", _reference), ("V2", "resource", rules.scalar)):
    _handle = f"handle: {_type}"
    for _name, _attrs in _QUEUES.items():
        define(
            OpDef(
                _name + _version,
                outputs=(_handle,),
                attrs=_attrs,
                shape=_shape,
                not_differentiable=True,
                minima={} if _name == "PriorityQueue" else {"component_types": 1},
                effect=facts.MAKES,
                role=facts.Role.HANDLE,
            )
        )
    for _name in ("QueueEnqueue", "QueueEnqueueMany"):
        define(
            OpDef(
                _name + _version,
                (_handle, "components: Tcomponents"),
                attrs={"Tcomponents": list, "timeout_ms": -1},
                shape=rules.nothing,
                not_differentiable=True,
                minima={"Tcomponents": 1},
                effect=facts.changes("handle") | facts.BLOCKS,
            )
        )
    for _name, _more, _rule in (
        ("QueueDequeue", (), _unknown),
        ("QueueDequeueMany", ("n: int32",), _batched),
        ("QueueDequeueUpTo", ("n: int32",), _unknown),
    ):
        define(
            OpDef(
                _name + _version,
                (_handle, *_more),
                ("components: component_types",),
                attrs={"component_types": list, "timeout_ms": -1},
                shape=_rule,
                not_differentiable=True,
                minima={"component_types": 1},
                effect=facts.changes("handle") | facts.BLOCKS,
                host=("n",) if _more else (),
            )
        )
    define(
        OpDef(
            f"_QueueDequeueRows{_version}",
            (_handle, f"sink: {_type}", "n: int32"),
            ("components: component_types",),
            attrs={"component_types": list, "timeout_ms": -1},
            shape=_unknown,
            not_differentiable=True,
            minima={"component_types": 1},
            effect=facts.changes("handle") | facts.reads("sink") | facts.BLOCKS,
            host=("n",),
        )
    )
    define(
        OpDef(
            f"QueueClose{_version}",
            (_handle,),
            attrs={"cancel_pending_enqueues": False},
            shape=rules.nothing,
            not_differentiable=True,
            effect=facts.changes("handle") | facts.BLOCKS,
        )
    )
    for _name, _output in (("QueueSize", "size: int32"), ("QueueIsClosed", "is_closed: bool")):
        define(
            OpDef(
                _name + _version,
                (_handle,),
                (_output,),
                shape=rules.scalar,
                not_differentiable=True,
                effect=facts.reads("handle"),
            )
        )
define(
    OpDef(
        "SerializeQueue",
        ("handle: resource",),
        ("elements: string", "is_closed: bool"),
        shape=_matrix,
        not_differentiable=True,
        effect=facts.reads("handle"),
    )
)
define(
    OpDef(
        "DeserializeQueue",
        ("handle: resource", "elements: string", "is_closed: bool"),
        shape=rules.nothing,
        not_differentiable=True,
        effect=facts.changes("handle"),
    )
)
