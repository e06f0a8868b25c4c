"""Rows of lookup tables (tensorflow/core/ops/lookup_ops.cc).

Most ops exist twice. The older op of TensorFlow 1 takes a reference to the table, and the newer op
(`V2`) takes a handle.
"""

from typing import Any

from capstan.core import dtypes, shapes, tensor_shape
from capstan.framework import facts
from capstan.framework.opdef import OpDef, ShapeContext, ShapeRule, define
from capstan.framework.ops import rules

_TABLE = {
    "container": b"",
    "shared_name": b"",
    "use_node_name_sharing": False,
    "key_dtype": dtypes.DType,
    "value_dtype": dtypes.DType,
}


def _reference(ctx: ShapeContext) -> rules.Shapes:
    return ((2,),)


def _unknown(ctx: ShapeContext) -> rules.Shapes:
    return (None,)


def _pairs(ctx: ShapeContext) -> rules.Shapes:
    return (None, None)


def _vectors(ctx: ShapeContext) -> rules.Shapes:
    shapes.merge(shapes.with_rank(ctx.inputs[1], 1), ctx.inputs[2])
    return ()


def _file(ctx: ShapeContext) -> rules.Shapes:
    shapes.with_rank(ctx.inputs[1], 0)
    return ()


def _define(
    name: str,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    shape: ShapeRule,
    effect: facts.Effect,
    **more: Any,
) -> None:
    define(
        OpDef(name, inputs, outputs, shape=shape, effect=effect, not_differentiable=True, **more)
    )


_reads = facts.reads("table_handle")
_changes = facts.changes("table_handle")
for _version, _type, _shape in (("", "Ref(string)", _reference), ("V2", "resource", rules.scalar)):
    _handle = f"table_handle: {_type}"
    for _name, _more in (
        ("HashTable", {}),
        ("MutableHashTable", {}),
        ("MutableHashTableOfTensors", {"value_shape": tensor_shape.TensorShape(())}),
    ):
        define(
            OpDef(
                _name + _version,
                outputs=(_handle,),
                attrs={**_TABLE, **_more},
                shape=_shape,
                not_differentiable=True,
                effect=facts.MAKES,
                role=facts.Role.HANDLE,
            )
        )
    _define(
        f"LookupTableFind{_version}",
        (_handle, "keys: Tin", "default_value: Tout"),
        ("values: Tout",),
        _unknown,
        _reads,
    )
    _define(f"LookupTableSize{_version}", (_handle,), ("size: int64",), rules.scalar, _reads)
    _define(
        f"LookupTableExport{_version}",
        (_handle,),
        ("keys: Tkeys", "values: Tvalues"),
        _pairs,
        _reads,
        attrs={"Tkeys": dtypes.DType, "Tvalues": dtypes.DType},
    )
    for _name in ("LookupTableInsert", "LookupTableImport"):
        _define(
            _name + _version,
            (_handle, "keys: Tin", "values: Tout"),
            (),
            rules.nothing,
            _changes,
        )
    _define(
        f"InitializeTable{_version}",
        (_handle, "keys: Tkey", "values: Tval"),
        (),
        _vectors,
        _changes,
    )
    _define(
        f"InitializeTableFromTextFile{_version}",
        (_handle, "filename: string"),
        (),
        _file,
        _changes | facts.EXTERNAL,
        attrs={
            "key_index": int,
            "value_index": int,
            "vocab_size": -1,
            "delimiter": b"\t",
            "offset": 0,
        },
        minima={"key_index": -2, "value_index": -2, "vocab_size": -1},
    )
_define(
    "InitializeTableFromDataset",
    ("table_handle: resource", "dataset: variant"),
    (),
    rules.nothing,
    _changes | facts.EXTERNAL | facts.BLOCKS,
)
_define("LookupTableRemoveV2", ("table_handle: resource", "keys: Tin"), (), rules.nothing, _changes)
define(
    OpDef(
        "MutableDenseHashTableV2",
        ("empty_key: key_dtype", "deleted_key: key_dtype"),
        ("table_handle: resource",),
        attrs={
            **{name: default for name, default in _TABLE.items() if name != "key_dtype"},
            "value_shape": tensor_shape.TensorShape(()),
            "initial_num_buckets": 1 << 17,
            "max_load_factor": 0.8,
        },
        shape=rules.scalar,
        not_differentiable=True,
        effect=facts.MAKES,
        role=facts.Role.HANDLE,
    )
)
