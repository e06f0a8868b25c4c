"""Rows of the ops with which TensorFlow looks into a step, and that end a task
(core/ops/{debug_ops,control_flow_ops}.cc). Here the copies are the tensors themselves.
"""

import math
from typing import Any

from capstan.core import dtypes, shapes
from capstan.framework import facts
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import rules, typesets


def _passed_on(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return grads


def _summary(ctx: ShapeContext) -> rules.Shapes:
    rank = shapes.rank(ctx.inputs[0])
    return ((None if rank is None else 14 + rank,),)


_COPY: dict[str, Any] = {"tensor_name": b"", "debug_ops_spec": []}
_TENSOR: dict[str, Any] = {"device_name": b"", "tensor_name": b"", "debug_urls": []}
_COPIES: dict[str, dict[str, Any]] = {
    "Copy": _COPY,
    "CopyHost": _COPY,
    "DebugIdentity": {**_TENSOR, "gated_grpc": False},
    "DebugIdentityV2": {
        "tfdbg_context_id": b"",
        "op_name": b"",
        "output_slot": -1,
        "tensor_debug_mode": -1,
        "debug_urls": [],
        "circular_buffer_size": 1000,
        "tfdbg_run_id": b"",
    },
    "DebugIdentityV3": {
        "device_name": b"",
        "tensor_name": b"",
        "io_of_node": b"",
        "is_input": False,
        "io_index": -1,
        "debug_urls": [],
        "gated_grpc": False,
    },
}
for _name, _attrs in _COPIES.items():
    define(
        OpDef(
            _name,
            ("input: T",),
            ("output: T",),
            attrs=_attrs,
            shape=rules.unchanged,
            gradient=_passed_on,
            role=facts.Role.IDENTITY,
            value=rules.passed_on,
            sizes=rules.sizes_passed_on,
            host=() if _name == "Copy" else ("input", "output"),
        )
    )
for _name, _kind in (("DebugGradientIdentity", "T"), ("DebugGradientRefIdentity", "Ref(T)")):
    define(
        OpDef(
            _name,
            (f"input: {_kind}",),
            (f"output: {_kind}",),
            shape=rules.unchanged,
            gradient=_passed_on,
            role=facts.Role.IDENTITY,
        )
    )
define(
    OpDef(
        "DebugNumericSummary",
        ("input: T",),
        ("output: float64",),
        attrs={
            **_TENSOR,
            "lower_bound": -math.inf,
            "upper_bound": math.inf,
            "mute_if_healthy": False,
            "gated_grpc": False,
        },
        shape=_summary,
        not_differentiable=True,
        host=("input", "output"),
    )
)
define(
    OpDef(
        "DebugNumericSummaryV2",
        ("input: T",),
        ("output: output_dtype",),
        attrs={"output_dtype": dtypes.float32, "tensor_debug_mode": -1, "tensor_id": -1},
        shape=lambda ctx: (None,),
        not_differentiable=True,
        types={"T": (*typesets.NUMERIC, dtypes.bool_), "output_dtype": typesets.WIDE},
    )
)
define(
    OpDef(
        "DebugNanCount",
        ("input: T",),
        ("output: int64",),
        attrs={**_TENSOR, "gated_grpc": False},
        shape=rules.scalar,
        not_differentiable=True,
        host=("input", "output"),
    )
)
define(
    OpDef(
        "Abort",
        attrs={"error_msg": b"", "exit_without_error": False},
        shape=rules.nothing,
        not_differentiable=True,
        effect=facts.EXTERNAL,
    )
)
