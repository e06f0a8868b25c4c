"""Rows of the datasets that read tables and records (core/ops/experimental_dataset_ops.cc)."""

from typing import Any

from capstan.core import dtypes
from capstan.framework import facts
from capstan.framework.opdef import OpDef, define
from capstan.framework.ops import rules
from capstan.framework.ops.datasets import FILES, TYPED, dataset

_CSV = (
    *FILES,
    "header: bool",
    "field_delim: string",
    "use_quote_delim: bool",
    "na_value: string",
    "select_cols: int64",
    "record_defaults: output_types",
)
_FIELDS = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64, dtypes.string)


def _csv(name: str, inputs: tuple[str, ...]) -> None:
    define(
        OpDef(
            name,
            inputs,
            ("handle: variant",),
            attrs=TYPED,
            types={"output_types": _FIELDS},
            minima={"output_types": 1, "output_shapes": 1},
            shape=rules.scalar,
            not_differentiable=True,
            effect=facts.EXTERNAL,
            host=tuple(text.split(":")[0] for text in inputs),
        )
    )


_csv("CSVDataset", _CSV)
_csv("ExperimentalCSVDataset", _CSV)
_csv("CSVDatasetV2", (*_CSV, "exclude_cols: int64"))
_NO_ATTRS: dict[str, Any] = {}
for _prefix in ("", "Experimental"):
    dataset(
        f"{_prefix}SqlDataset",
        ("driver_name: string", "data_source_name: string", "query: string"),
        TYPED,
        facts.EXTERNAL,
    )
    dataset(f"{_prefix}MatchingFilesDataset", ("patterns: string",), _NO_ATTRS, facts.EXTERNAL)
dataset("TFRecordDatasetV2", (*FILES, "byte_offsets: int64"), {"metadata": b""}, facts.EXTERNAL)
