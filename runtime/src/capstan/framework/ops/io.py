"""Rows of the ops that write and read checkpoints and compose their file names.

Sources: tensorflow/core/ops/{io_ops,string_ops}.cc.
"""

from capstan.core import dtypes, shapes
from capstan.framework import facts
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules

CHECKPOINT_OPS = frozenset(
    {
        *("SaveV2", "RestoreV2", "MergeV2Checkpoints"),
        *("Save", "SaveSlices", "Restore", "RestoreSlice"),
    }
)
"""The ops of a saver that read and write checkpoints."""


def _restored_shapes(ctx: ShapeContext) -> rules.Shapes:
    unknown: shapes.Shape = None
    return (unknown,) * len(ctx.attrs["dtypes"])


def _unknown_shape(ctx: ShapeContext) -> rules.Shapes:
    return (None,)


def _joined_shape(ctx: ShapeContext) -> rules.Shapes:
    # A scalar is joined to every element of the other inputs, which must have one shape.
    known: shapes.Shape = ()
    for shape in ctx.inputs:
        if shape is None:
            return (None,)
        if shape != ():
            known = shape if known == () else shapes.merge(known, shape)
    return (known,)


define(
    OpDef(
        "SaveV2",
        ("prefix: string", "tensor_names: string", "shape_and_slices: string", "tensors: dtypes"),
        attrs={"dtypes": list},
        minima={"dtypes": 1},
        shape=rules.nothing,
        effect=facts.EXTERNAL,
        not_differentiable=True,
    )
)
define(
    OpDef(
        "RestoreV2",
        ("prefix: string", "tensor_names: string", "shape_and_slices: string"),
        ("tensors: dtypes",),
        attrs={"dtypes": list},
        minima={"dtypes": 1},
        shape=_restored_shapes,
        effect=facts.EXTERNAL,
        not_differentiable=True,
    )
)
define(
    OpDef(
        "MergeV2Checkpoints",
        ("checkpoint_prefixes: string", "destination_prefix: string"),
        attrs={"delete_old_dirs": True, "allow_missing_files": False},
        shape=rules.nothing,
        effect=facts.EXTERNAL,
        not_differentiable=True,
    )
)
define(
    OpDef(
        "Save",
        ("filename: string", "tensor_names: string", "data: T"),
        attrs={"T": list},
        minima={"T": 1},
        shape=rules.nothing,
        effect=facts.EXTERNAL,
        not_differentiable=True,
    )
)
define(
    OpDef(
        "SaveSlices",
        ("filename: string", "tensor_names: string", "shapes_and_slices: string", "data: T"),
        attrs={"T": list},
        minima={"T": 1},
        shape=rules.nothing,
        effect=facts.EXTERNAL,
        not_differentiable=True,
    )
)
define(
    OpDef(
        "Restore",
        ("file_pattern: string", "tensor_name: string"),
        ("tensor: dt",),
        attrs={"dt": dtypes.DType, "preferred_shard": -1},
        shape=_unknown_shape,
        effect=facts.EXTERNAL,
        not_differentiable=True,
    )
)
define(
    OpDef(
        "RestoreSlice",
        ("file_pattern: string", "tensor_name: string", "shape_and_slice: string"),
        ("tensor: dt",),
        attrs={"dt": dtypes.DType, "preferred_shard": -1},
        shape=_unknown_shape,
        effect=facts.EXTERNAL,
        not_differentiable=True,
    )
)
define(
    OpDef(
        "ShardedFilespec",
        ("basename: string", "num_shards: int32"),
        ("filename: string",),
        shape=rules.scalar,
        not_differentiable=True,
    )
)
define(
    OpDef(
        "ShardedFilename",
        ("basename: string", "shard: int32", "num_shards: int32"),
        ("filename: string",),
        shape=rules.scalar,
        not_differentiable=True,
    )
)
define(
    OpDef(
        "StringJoin",
        ("inputs: N * string",),
        ("output: string",),
        attrs={"separator": b""},
        shape=_joined_shape,
        not_differentiable=True,
    )
)
