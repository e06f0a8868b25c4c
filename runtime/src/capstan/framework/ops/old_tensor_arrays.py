"""Rows of the TensorArrays of old graphs, whose handles are strings or references of strings.

The ops are those of `tensor_array`, but for the gradient of the first version, which takes the
value of a reference as its handle. An old graph has its gradients already, so the ops have no
gradient rules. Source: core/ops/data_flow_ops.cc.
"""

import dataclasses
from typing import Any, Final

from capstan.core import shapes, tensor_shape
from capstan.framework import opdef
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules, tensor_array

_PARTS: Final = ("Read", "Write", "Gather", "Scatter", "Concat", "Split", "Size", "Close")
_HANDLES: Final = {"": "Ref(string)", "V2": "string"}
"""The type of the handle, by version."""


def _handle(_: ShapeContext) -> rules.Shapes:
    return (tensor_array.HANDLE,)


def _packed(ctx: ShapeContext) -> rules.Shapes:
    element = ctx.attrs["element_shape"].internal
    return (None if element is None else (None, *element),)


def _unpacked(ctx: ShapeContext) -> rules.Shapes:
    shapes.with_rank_at_least(ctx.inputs[1], 1)
    return ((),)


def _old(present: str, name: str, handle: str, **changes: Any) -> OpDef:
    row = opdef.lookup(present)
    inputs = (f"handle: {handle}", *row.inputs[1:])
    options: dict[str, Any] = {"inputs": inputs, "gradient": None, **changes}
    return dataclasses.replace(row, name=name, **options)


for _version, _type in _HANDLES.items():
    for _part in _PARTS:
        define(_old(f"TensorArray{_part}V3", f"TensorArray{_part}{_version}", _type))
    _made = opdef.lookup("TensorArrayV3")
    _names = ["dtype", "dynamic_size", "clear_after_read", "tensor_array_name", "element_shape"]
    if _version:
        _names = [_names[0], _names[-1], *_names[1:-1]]
    define(
        dataclasses.replace(
            _made,
            name=f"TensorArray{_version}",
            outputs=(f"handle: {_type}",),
            attrs={name: _made.attrs[name] for name in _names},
            shape=_handle,
            host=("size",),
        )
    )
define(
    _old(
        "TensorArrayGradV3",
        "TensorArrayGradV2",
        "string",
        outputs=("grad_handle: string",),
        shape=_handle,
        host=("flow_in",),
    )
)
define(
    _old(
        "TensorArrayGatherV3",
        "TensorArrayPack",
        "Ref(string)",
        inputs=("handle: Ref(string)", "flow_in: float32"),
        attrs={
            "dtype": opdef.lookup("TensorArrayGatherV3").attrs["dtype"],
            "element_shape": tensor_shape.TensorShape(None),
        },
        shape=_packed,
        host=("flow_in",),
    )
)
define(
    _old(
        "TensorArrayScatterV3",
        "TensorArrayUnpack",
        "Ref(string)",
        inputs=("handle: Ref(string)", "value: T", "flow_in: float32"),
        shape=_unpacked,
        host=("flow_in", "flow_out"),
    )
)
