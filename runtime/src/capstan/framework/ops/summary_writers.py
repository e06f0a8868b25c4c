"""Rows of the ops that write summaries to event files (core/ops/summary_ops.cc)."""

from typing import Any

from capstan.core import dtypes
from capstan.framework import facts
from capstan.framework.opdef import OpDef, define
from capstan.framework.ops import rules, typesets

_CHANGES = facts.changes("writer") | facts.EXTERNAL


def _write(name: str, *inputs: str, **others: Any) -> None:
    define(
        OpDef(
            name,
            ("writer: resource", *inputs),
            shape=rules.nothing,
            not_differentiable=True,
            effect=_CHANGES,
            **others,
        )
    )


define(
    OpDef(
        "SummaryWriter",
        (),
        ("writer: resource",),
        attrs={"shared_name": b"", "container": b""},
        shape=rules.scalar,
        not_differentiable=True,
        effect=facts.MAKES,
        role=facts.Role.HANDLE,
    )
)
_write(
    "CreateSummaryFileWriter",
    "logdir: string",
    "max_queue: int32",
    "flush_millis: int32",
    "filename_suffix: string",
)
_write(
    "CreateSummaryDbWriter",
    "db_uri: string",
    "experiment_name: string",
    "run_name: string",
    "user_name: string",
)
_write("FlushSummaryWriter")
_write("CloseSummaryWriter")
_write("WriteSummary", "step: int64", "tensor: T", "tag: string", "summary_metadata: string")
_write(
    "WriteScalarSummary",
    "step: int64",
    "tag: string",
    "value: T",
    types={"T": typesets.NUMERIC},
)
_write(
    "WriteHistogramSummary",
    "step: int64",
    "tag: string",
    "values: T",
    attrs={"T": dtypes.float32},
    types={"T": (*typesets.NUMERIC, dtypes.bool_)},
)
_write(
    "WriteImageSummary",
    "step: int64",
    "tag: string",
    "tensor: T",
    "bad_color: uint8",
    attrs={"max_images": 3, "T": dtypes.float32},
    types={"T": (dtypes.uint8, dtypes.float64, dtypes.float32, dtypes.float16)},
    minima={"max_images": 1},
)
_write(
    "WriteAudioSummary",
    "step: int64",
    "tag: string",
    "tensor: float32",
    "sample_rate: float32",
    attrs={"max_outputs": 3},
    minima={"max_outputs": 1},
)
_write("WriteGraphSummary", "step: int64", "tensor: string")
_write("WriteRawProtoSummary", "step: int64", "tensor: string")
_write("ImportEvent", "event: string")
