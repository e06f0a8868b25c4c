"""Rows of maps from tensors to tensors (core/ops/map_ops.cc). A map is a value of type variant.

TensorFlow 2 clients use maps. They build the gradients themselves.
"""

from typing import Any

from capstan.core import dtypes
from capstan.framework.opdef import OpDef, ShapeRule, define
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
for _name, _inputs, _outputs, _attrs, _shape in _ROWS:
    define(OpDef(_name, _inputs, _outputs, attrs=_attrs, shape=_shape))
