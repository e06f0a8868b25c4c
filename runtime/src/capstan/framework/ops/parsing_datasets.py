"""Rows of the datasets that parse Examples (core/ops/experimental_dataset_ops.cc)."""

from typing import Any

from capstan.framework.opdef import OpDef, define
from capstan.framework.ops import parsing, rules, typesets

_ATTRS: dict[str, Any] = {
    **dict.fromkeys(("sparse_keys", "dense_keys", "sparse_types", "Tdense", "dense_shapes"), list),
    **dict.fromkeys(("output_types", "output_shapes"), list),
}
_TYPES = dict.fromkeys(("sparse_types", "Tdense"), parsing.TYPES)
_RAGGED: dict[str, Any] = {"ragged_keys": [], "ragged_value_types": [], "ragged_split_types": []}
_RAGGED_TYPES = {"ragged_value_types": parsing.TYPES, "ragged_split_types": typesets.INDEX}


def _dataset(name: str, attrs: dict[str, Any], types: dict[str, Any]) -> None:
    define(
        OpDef(
            name,
            ("input_dataset: variant", "num_parallel_calls: int64", "dense_defaults: Tdense"),
            ("handle: variant",),
            attrs={**_ATTRS, **attrs},
            types={**_TYPES, **types},
            minima={"output_types": 1, "output_shapes": 1},
            shape=rules.scalar,
            not_differentiable=True,
            host=("num_parallel_calls", "dense_defaults"),
        )
    )


_dataset("ParseExampleDataset", {"sloppy": False, **_RAGGED}, _RAGGED_TYPES)
_dataset("ParseExampleDatasetV2", {"deterministic": b"default", **_RAGGED}, _RAGGED_TYPES)
_dataset("ExperimentalParseExampleDataset", {"sloppy": False}, {})
