"""Rows of the ops that join the calls of several steps (tensorflow/core/ops/batch_ops.cc).

The gradients are those of contrib/batching/python/ops/batch_ops.py.
"""

from capstan.core import function, shapes
from capstan.framework import facts
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, define

_WAITS = facts.EXTERNAL | facts.BLOCKS
_NAMED = {"container": b"", "shared_name": b""}


def _any_rows(shape: shapes.Shape) -> shapes.Shape:
    """Return a shape with another number of rows."""
    return None if shape is None else (None, *shape[1:])


def _batched(ctx: ShapeContext) -> tuple[shapes.Shape, ...]:
    return (*map(_any_rows, ctx.inputs), (None, 3), ())


def _batch_gradient(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    index, key = op.outputs[-2:]
    timeout = op.get_attr("grad_timeout_micros")
    return [
        None
        if grad is None
        else raw.Unbatch(
            grad, index, key, timeout_micros=timeout,
            shared_name=f"batch_gradient_{op.name}_{place}",
        )
        for place, grad in enumerate(grads[: len(op.inputs)])
    ]  # fmt: skip


def _unbatch_gradient(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    batched, index, key = op.inputs
    name = f"unbatch_gradient_{op.name}"
    return raw.UnbatchGrad(batched, index, grads[0], key, shared_name=name), None, None


define(
    OpDef(
        "Batch",
        ("in_tensors: T",),
        ("batched_tensors: T", "batch_index: int64", "id: int64"),
        attrs={
            "num_batch_threads": int,
            "max_batch_size": int,
            "batch_timeout_micros": int,
            "max_enqueued_batches": 10,
            "allowed_batch_sizes": [],
            "grad_timeout_micros": int,
            **_NAMED,
            "batching_queue": b"",
            "T": list,
        },
        minima={"T": 1},
        shape=_batched,
        gradient=_batch_gradient,
        effect=_WAITS,
    )
)
define(
    OpDef(
        "Unbatch",
        ("batched_tensor: T", "batch_index: int64", "id: int64"),
        ("unbatched_tensor: T",),
        attrs={"timeout_micros": int, **_NAMED},
        shape=lambda ctx: (_any_rows(ctx.inputs[0]),),
        gradient=_unbatch_gradient,
        effect=_WAITS,
    )
)
define(
    OpDef(
        "UnbatchGrad",
        ("original_input: T", "batch_index: int64", "grad: T", "id: int64"),
        ("batched_grad: T",),
        attrs=_NAMED,
        shape=lambda ctx: (shapes.unknown(shapes.rank(ctx.inputs[2])),),
        effect=_WAITS,
    )
)

define(
    OpDef(
        "BatchFunction",
        ("in_tensors: Tin", "captured_tensors: Tcaptured"),
        ("out_tensors: Tout",),
        attrs={
            "f": function.Reference,
            "num_batch_threads": int,
            "max_batch_size": int,
            "batch_timeout_micros": int,
            "max_enqueued_batches": 10,
            "allowed_batch_sizes": [],
            "container": b"",
            "shared_name": b"",
            "batching_queue": b"",
            "low_priority_max_batch_size": 0,
            "low_priority_batch_timeout_micros": 0,
            "low_priority_allowed_batch_sizes": [],
            "low_priority_max_enqueued_batches": 0,
            "mixed_priority_policy": b"low_priority_padding_with_max_batch_size",
            "batch_padding_policy": b"PAD_UP",
            "enable_large_batch_splitting": False,
            "Tin": list,
            "Tcaptured": list,
            "Tout": list,
        },
        minima={"Tin": 1, "Tout": 1},
        shape=lambda ctx: (None,) * len(ctx.attrs["Tout"]),
        effect=facts.EXTERNAL | facts.BLOCKS,
        role=facts.Role.KEEPS,
    )
)
