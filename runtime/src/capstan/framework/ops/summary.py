"""Rows of ops that write Summary protocol buffers for TensorBoard (core/ops/logging_ops.cc)."""

import numpy as np

from capstan.core import dtypes
from capstan.framework.opdef import OpDef, define
from capstan.framework.ops import rules, typesets

define(
    OpDef(
        "ScalarSummary",
        ("tags: string", "values: T"),
        ("summary: string",),
        shape=rules.scalar,
        not_differentiable=True,
        types={"T": typesets.NUMERIC},
    )
)
define(
    OpDef(
        "HistogramSummary",
        ("tag: string", "values: T"),
        ("summary: string",),
        attrs={"T": dtypes.float32},
        shape=rules.scalar,
        not_differentiable=True,
        types={"T": typesets.NUMERIC},
    )
)
define(
    OpDef(
        "ImageSummary",
        ("tag: string", "tensor: T"),
        ("summary: string",),
        attrs={
            "max_images": 3,
            "T": dtypes.float32,
            "bad_color": np.array([255, 0, 0, 255], np.uint8),
        },
        shape=rules.scalar,
        not_differentiable=True,
        types={"T": (dtypes.uint8, dtypes.float32, dtypes.float16, dtypes.float64)},
        minima={"max_images": 1},
    )
)
define(
    OpDef(
        "AudioSummaryV2",
        ("tag: string", "tensor: float32", "sample_rate: float32"),
        ("summary: string",),
        attrs={"max_outputs": 3},
        shape=rules.scalar,
        not_differentiable=True,
        minima={"max_outputs": 1},
    )
)
define(
    OpDef(
        "AudioSummary",
        ("tag: string", "tensor: float32"),
        ("summary: string",),
        attrs={"sample_rate": float, "max_outputs": 3},
        shape=rules.scalar,
        not_differentiable=True,
        minima={"max_outputs": 1},
    )
)
define(
    OpDef(
        "TensorSummary",
        ("tensor: T",),
        ("summary: string",),
        attrs={"description": b"", "labels": [], "display_name": b""},
        shape=rules.scalar,
        not_differentiable=True,
    )
)
define(
    OpDef(
        "TensorSummaryV2",
        ("tag: string", "tensor: T", "serialized_summary_metadata: string"),
        ("summary: string",),
        shape=rules.scalar,
        not_differentiable=True,
    )
)
define(
    OpDef(
        "MergeSummary",
        ("inputs: N * string",),
        ("summary: string",),
        shape=rules.scalar,
        not_differentiable=True,
        minima={"N": 1},
    )
)
