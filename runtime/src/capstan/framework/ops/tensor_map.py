"""Rows of maps from tensors to tensors (core/ops/map_ops.cc). A map is a value of type variant.

The gradient of a map is a map with the gradients of the values whose keys it has
(python/ops/map_ops.py of TensorFlow 2).
"""

from typing import Any

from capstan.core import dtypes
from capstan.framework.opdef import GradientRule, Gradients, Op, OpDef, Raw, ShapeRule, define
from capstan.framework.ops import rules

_MAP = "input_handle: variant"
_OUT = ("output_handle: variant",)
_KEY = "key: key_dtype"
_ROWS: tuple[tuple[str, tuple[str, ...], tuple[str, ...], dict[str, Any], ShapeRule], ...] = (
    ("EmptyTensorMap", (), ("handle: variant",), {}, rules.scalar),
    ("TensorMapInsert", (_MAP, _KEY, "value: value_dtype"), _OUT, {}, rules.scalar),
    (
        "TensorMapLookup",
        (_MAP, _KEY),
        ("value: value_dtype",),
        {"value_dtype": dtypes.DType},
        lambda ctx: (None,),
    ),
    ("TensorMapErase", (_MAP, _KEY), _OUT, {"value_dtype": dtypes.DType}, rules.scalar),
    ("TensorMapHasKey", (_MAP, _KEY), ("has_key: bool",), {}, rules.scalar),
    ("TensorMapSize", (_MAP,), ("size: int32",), {}, rules.scalar),
    (
        "TensorMapStackKeys",
        (_MAP,),
        ("keys: key_dtype",),
        {"key_dtype": dtypes.DType},
        lambda ctx: (None,),
    ),
)


def _lookup_gradient(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return raw.TensorMapInsert(raw.EmptyTensorMap(), op.inputs[1], grads[0]), None


def _insert_gradient(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    if grads[0] is None:
        return [None] * len(op.inputs)
    _, key, value = op.inputs
    # The gradient may not have the key.
    zeros = raw.TensorMapInsert(raw.EmptyTensorMap(), key, raw.ZerosLike(value))
    found, kind = raw.AddN([grads[0], zeros]), value.dtype.base_dtype
    return (
        raw.TensorMapErase(found, key, value_dtype=kind),
        None,
        raw.TensorMapLookup(found, key, value_dtype=kind),
    )


def _erase_gradient(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return grads[0], None


_GRADIENTS: dict[str, GradientRule] = {
    "TensorMapErase": _erase_gradient,
    "TensorMapInsert": _insert_gradient,
    "TensorMapLookup": _lookup_gradient,
}
for _name, _inputs, _outputs, _attrs, _shape in _ROWS:
    _rule = _GRADIENTS.get(_name)
    define(OpDef(_name, _inputs, _outputs, attrs=_attrs, shape=_shape, gradient=_rule))
