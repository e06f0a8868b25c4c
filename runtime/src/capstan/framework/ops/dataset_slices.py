"""Rows of the datasets that cut elements anew (core/ops/{,experimental_}dataset_ops.cc)."""

from capstan.core import function
from capstan.framework import facts
from capstan.framework.ops.datasets import ARGUMENTS, CALLS, NAMED, SOURCE, TYPED, calling, dataset

dataset("RebatchDatasetV2", (SOURCE, "batch_sizes: int64", "drop_remainder: bool"), TYPED)
for _op in ("RebatchDataset", "ExperimentalRebatchDataset"):
    dataset(_op, (SOURCE, "num_replicas: int64"), {**TYPED, "use_fallback": True})
_WINDOWS = (SOURCE, "window_size: int64", "window_shift: int64", "window_stride: int64")
dataset("SlidingWindowDataset", _WINDOWS, {"drop_remainder": True, **TYPED})
dataset("ExperimentalSlidingWindowDataset", _WINDOWS, TYPED)
dataset(
    "SparseTensorSliceDataset",
    ("indices: int64", "values: Tvalues", "dense_shape: int64"),
    {},
    facts.EXTERNAL,
)
dataset("ListDataset", ("tensors: Tinput_types",), {"Tinput_types": list, **NAMED}, facts.EXTERNAL)
dataset("AssertCardinalityDataset", (SOURCE, "cardinality: int64"), TYPED)
calling(
    "ParallelFilterDataset",
    (SOURCE, ARGUMENTS, "num_parallel_calls: int64"),
    {"predicate": function.Reference, "deterministic": b"default", **CALLS},
)
