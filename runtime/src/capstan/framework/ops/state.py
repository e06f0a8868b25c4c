"""Rows of reference variables, and of the ops that change them."""

from typing import Final

from capstan.core import dtypes, shapes, tensor_shape
from capstan.framework import facts
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules, typesets

ON_PARAMETER_SERVERS: Final = frozenset(
    {
        *("MutableHashTable", "MutableHashTableV2", "MutableHashTableOfTensors"),
        *("MutableHashTableOfTensorsV2", "MutableDenseHashTableV2"),
        *("BoostedTreesEnsembleResourceHandleOp", "BoostedTreesQuantileStreamResourceHandleOp"),
        "ResourceConditionalAccumulator",
    }
)
"""The ops, besides those of variables, that make what all workers share.

They are those of STANDARD_PS_OPS in tensorflow/python/training/device_setter.py.
"""


def _assign_shape(ctx: ShapeContext) -> rules.Shapes:
    ref, value = ctx.inputs
    if not ctx.attrs["validate_shape"]:
        return (value,)
    return (shapes.merge(ref, value),)


def _scatter_shape(ctx: ShapeContext) -> rules.Shapes:
    ref, indices, updates = ctx.inputs
    if ref is not None and indices is not None:
        shapes.with_rank_at_least(ref, 1)
        if updates != ():
            shapes.merge(updates, indices + ref[1:])
    return (ref,)


define(
    OpDef(
        "VariableV2",
        outputs=("ref: Ref(dtype)",),
        attrs={
            "shape": tensor_shape.TensorShape,
            "dtype": dtypes.DType,
            "container": b"",
            "shared_name": b"",
        },
        shape=rules.from_attribute,
        not_differentiable=True,
        effect=facts.MAKES,
        role=facts.Role.VARIABLE,
    )
)
define(
    OpDef(
        "IsVariableInitialized",
        ("ref: Ref(dtype)",),
        ("is_initialized: bool",),
        shape=rules.scalar,
        not_differentiable=True,
        effect=facts.reads("ref"),
        host=("is_initialized",),
    )
)
define(
    OpDef(
        "Assign",
        ("ref: Ref(T)", "value: T"),
        ("output_ref: Ref(T)",),
        attrs={"validate_shape": True, "use_locking": True},
        shape=_assign_shape,
        not_differentiable=True,
        effect=facts.changes_values("ref"),
    )
)
for _name in ("AssignAdd", "AssignSub"):
    define(
        OpDef(
            _name,
            ("ref: Ref(T)", "value: T"),
            ("output_ref: Ref(T)",),
            attrs={"use_locking": False},
            shape=rules.merged,
            not_differentiable=True,
            effect=facts.changes_values("ref"),
            types={"T": typesets.NUMBERS},
        )
    )
SCATTERS = ("Add", "Sub", "Mul", "Div", "Min", "Max", "Update")
"""The kinds of changes of rows. Each has an op, and one for resource variables."""
for _kind in SCATTERS:
    define(
        OpDef(
            f"Scatter{_kind}",
            ("ref: Ref(T)", "indices: Tindices", "updates: T"),
            ("output_ref: Ref(T)",),
            attrs={"use_locking": _kind == "Update"},
            shape=_scatter_shape,
            # TensorFlow says nothing about the gradient of ScatterUpdate.
            not_differentiable=_kind != "Update",
            effect=facts.changes_values("ref"),
            types={"Tindices": typesets.INDEX}
            | ({} if _kind == "Update" else {"T": typesets.changed(_kind)}),
        )
    )
