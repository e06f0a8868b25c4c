"""Rows of resource variables: their handles, and the ops that read and change the variables.

Sources: tensorflow/core/ops/{resource_variable_ops,training_ops}.cc. In Capstan,
the static shape of a handle is the shape of its variable, because every shape rule needs the shape
of the variable.
"""

import re
from dataclasses import replace

from capstan.core import dtypes, shapes, tensor_shape
from capstan.framework import facts
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, ShapeRule, define
from capstan.framework.ops import indexing, rules, state, training, typesets


def _checked(rule: ShapeRule) -> ShapeRule:
    """Return the shape rule `rule`, of an op that returns a reference, for the resource op.

    The resource op has no output.
    """

    def check(ctx: ShapeContext) -> rules.Shapes:
        rule(ctx)
        return ()

    return check


def _scattered(ctx: ShapeContext) -> rules.Shapes:
    handle, indices, updates = ctx.inputs
    if handle is not None and indices is not None:
        shapes.with_rank_at_least(handle, 1)
        if updates != ():
            shapes.merge(updates, indices + handle[1:])
    return ()


def _variable_shape(ctx: ShapeContext) -> rules.Shapes:
    handle = ctx.inputs[0]
    return ((None if handle is None else len(handle),),)


def _gather_shape(ctx: ShapeContext) -> rules.Shapes:
    handle, indices = ctx.inputs
    batch = ctx.attrs["batch_dims"]
    if batch < 0:
        raise ValueError(f"batch_dims is negative ({batch})")
    handle = shapes.with_rank_at_least(handle, batch + 1)
    indices = shapes.with_rank_at_least(indices, batch)
    if handle is None or indices is None:
        return (None,)
    return ((*handle[:batch], *indices[batch:], *handle[batch + 1 :]),)


def _gathered(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (handle, indices), batch = op.inputs, op.get_attr("batch_dims")
    sizes = raw.VariableShape(handle)
    if not batch:
        return indexing.looked_up_rows(grads[0], indices, sizes, raw), None
    count = raw.Reshape(raw.Size(indices), [1])
    inner = raw.Slice(sizes, [batch + 1], [-1])
    values = raw.Reshape(grads[0], raw.ConcatV2([count, inner], 0))
    size = raw.Reshape(raw.Slice(sizes, [batch], [1]), [])
    return indexing.sums(values, indices, size, batch, raw), None


def _read(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return grads


define(
    OpDef(
        "VarHandleOp",
        outputs=("resource: resource",),
        attrs={
            "dtype": dtypes.DType,
            "shape": tensor_shape.TensorShape,
            "container": b"",
            "shared_name": b"",
            "debug_name": b"",
            "allowed_devices": [],
        },
        shape=rules.from_attribute,
        not_differentiable=True,
        effect=facts.MAKES,
        role=facts.Role.VARIABLE,
    )
)
define(
    OpDef(
        "ReadVariableOp",
        ("resource: resource",),
        ("value: dtype",),
        attrs={"dtype": dtypes.DType},
        shape=rules.unchanged,
        gradient=_read,
        effect=facts.reads("resource"),
        role=facts.Role.READ,
    )
)
define(
    OpDef(
        "VarIsInitializedOp",
        ("resource: resource",),
        ("is_initialized: bool",),
        shape=rules.scalar,
        not_differentiable=True,
        effect=facts.reads("resource"),
        host=("is_initialized",),
    )
)
define(
    OpDef(
        "VariableShape",
        ("input: resource",),
        ("output: out_type",),
        attrs={"out_type": dtypes.int32},
        shape=_variable_shape,
        not_differentiable=True,
        effect=facts.reads("input"),
        types={"out_type": typesets.INDEX},
        host=("output",),
    )
)
define(
    OpDef(
        "DestroyResourceOp",
        ("resource: resource",),
        attrs={"ignore_lookup_error": True},
        shape=rules.nothing,
        not_differentiable=True,
        effect=facts.changes("resource"),
    )
)
# TensorFlow 2 puts this op before the reads of a saver, so that it copies no variable.
define(
    OpDef(
        "DisableCopyOnRead",
        ("resource: resource",),
        shape=rules.nothing,
        not_differentiable=True,
        effect=facts.reads("resource"),
    )
)
for _name in ("AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp"):
    define(
        OpDef(
            _name,
            ("resource: resource", "value: dtype"),
            attrs={"validate_shape": False} if _name == "AssignVariableOp" else {},
            shape=_checked(rules.merged),
            effect=facts.changes_values("resource"),
            types={} if _name == "AssignVariableOp" else {"dtype": typesets.NUMBERS},
        )
    )
define(
    OpDef(
        "ResourceGather",
        ("resource: resource", "indices: Tindices"),
        ("output: dtype",),
        attrs={"dtype": dtypes.DType, "batch_dims": 0, "validate_indices": True},
        shape=_gather_shape,
        gradient=_gathered,
        effect=facts.reads("resource"),
        types={"Tindices": typesets.INDEX},
    )
)
for _kind in state.SCATTERS:
    define(
        OpDef(
            f"ResourceScatter{_kind}",
            ("resource: resource", "indices: Tindices", "updates: dtype"),
            shape=_scattered,
            effect=facts.changes_values("resource"),
            types={"Tindices": typesets.INDEX}
            | ({} if _kind == "Update" else {"dtype": typesets.changed(_kind)}),
        )
    )

for _row in (*training.UPDATES, *training.RESOURCE_UPDATES):
    # The arguments are the same, except that a resource op takes handles instead of references.
    define(
        replace(
            _row,
            name=f"Resource{_row.name}",
            inputs=tuple(re.sub(r"Ref\(T\)", "resource", text) for text in _row.inputs),
            outputs=(),
            shape=_checked(_row.shape or rules.nothing),
        )
    )
