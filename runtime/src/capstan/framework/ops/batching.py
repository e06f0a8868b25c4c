"""The row of the op that joins the calls of several steps (tensorflow/core/ops/batch_ops.cc)."""

from capstan.core import function
from capstan.framework import facts
from capstan.framework.opdef import OpDef, define

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
            "Tcaptured": [],
            "Tout": list,
        },
        minima={"Tin": 1, "Tout": 1},
        shape=lambda ctx: (None,) * len(ctx.attrs["Tout"]),
        effect=facts.EXTERNAL | facts.BLOCKS,
        role=facts.Role.KEEPS,
    )
)
