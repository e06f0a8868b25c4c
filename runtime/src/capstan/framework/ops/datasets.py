"""Rows of the ops that make datasets (tensorflow/core/ops/dataset_ops.cc).

The output is a scalar variant. `resources.dataset` describes its value.
"""

from typing import Any

from capstan.core import function
from capstan.framework import facts
from capstan.framework.opdef import OpDef, define
from capstan.framework.ops import rules

_TYPED: dict[str, Any] = {"output_types": list, "output_shapes": list}
_NAMED: dict[str, Any] = {**_TYPED, "metadata": b""}
_MINIMA = {"output_types": 1, "output_shapes": 1}
_CALLS: dict[str, Any] = {"Targuments": list, **_NAMED}
_SOURCE = "input_dataset: variant"
_ARGUMENTS = "other_arguments: Targuments"


def _dataset(
    name: str,
    inputs: tuple[str, ...],
    attrs: dict[str, Any],
    effect: facts.Effect = facts.PURE,
    role: facts.Role | None = None,
) -> None:
    define(
        OpDef(
            name,
            inputs,
            ("handle: variant",),
            attrs=attrs,
            minima={key: 1 for key in ("output_types", "output_shapes") if key in attrs},
            shape=rules.scalar,
            not_differentiable=True,
            effect=effect,
            role=role,
            host=tuple(text.split(":")[0] for text in inputs if "variant" not in text),
        )
    )


def _calling(name: str, inputs: tuple[str, ...], attrs: dict[str, Any]) -> None:
    _dataset(name, inputs, attrs, role=facts.Role.KEEPS)


_COMPONENTS = {"Toutput_types": list, "output_shapes": list, "metadata": b""}
_dataset("TensorDataset", ("components: Toutput_types",), _COMPONENTS)
_dataset(
    "TensorSliceDataset",
    ("components: Toutput_types",),
    {**_COMPONENTS, "is_files": False, "replicate_on_split": False},
)
_dataset(
    "RangeDataset",
    ("start: int64", "stop: int64", "step: int64"),
    {**_NAMED, "replicate_on_split": False},
)
_dataset("BatchDataset", (_SOURCE, "batch_size: int64"), _NAMED)
_dataset(
    "BatchDatasetV2",
    (_SOURCE, "batch_size: int64", "drop_remainder: bool"),
    {"parallel_copy": False, **_NAMED},
)
_dataset(
    "ParallelBatchDataset",
    (_SOURCE, "batch_size: int64", "num_parallel_calls: int64", "drop_remainder: bool"),
    {"parallel_copy": False, **_NAMED, "deterministic": b"default"},
)
_PADDED = (
    _SOURCE,
    "batch_size: int64",
    "padded_shapes: N * int64",
    "padding_values: Toutput_types",
)
_dataset("PaddedBatchDataset", _PADDED, {**_COMPONENTS, "N": int})
_dataset(
    "PaddedBatchDatasetV2",
    (*_PADDED, "drop_remainder: bool"),
    {"parallel_copy": False, **_COMPONENTS, "N": int},
)
_dataset("UnbatchDataset", (_SOURCE,), _NAMED)
_dataset("ExperimentalUnbatchDataset", (_SOURCE,), _TYPED)
_dataset(
    "WindowDataset",
    (_SOURCE, "size: int64", "shift: int64", "stride: int64", "drop_remainder: bool"),
    _NAMED,
)
for _op in ("RepeatDataset", "TakeDataset", "SkipDataset"):
    _dataset(_op, (_SOURCE, "count: int64"), _NAMED)
_dataset(
    "ShardDataset",
    (_SOURCE, "num_shards: int64", "index: int64"),
    {"require_non_empty": False, **_NAMED},
)
_dataset("ConcatenateDataset", (_SOURCE, "another_dataset: variant"), _NAMED)
_dataset("ZipDataset", ("input_datasets: N * variant",), {**_NAMED, "N": int})
_SHUFFLE = (_SOURCE, "buffer_size: int64", "seed: int64", "seed2: int64")
_dataset("ShuffleDataset", _SHUFFLE, {"reshuffle_each_iteration": True, **_NAMED})
_dataset(
    "ShuffleAndRepeatDataset",
    (*_SHUFFLE, "count: int64"),
    {"reshuffle_each_iteration": True, **_NAMED},
)
for _prefix in ("", "Experimental"):
    _extra = {} if _prefix else {"metadata": b""}
    _dataset(
        f"{_prefix}DirectedInterleaveDataset",
        ("selector_input_dataset: variant", "data_input_datasets: N * variant"),
        {**_TYPED, "N": int, **({} if _prefix else {"stop_on_empty_dataset": False})},
    )
    _dataset(f"{_prefix}UniqueDataset", (_SOURCE,), {**_TYPED, **_extra})
    _dataset(f"{_prefix}RandomDataset", ("seed: int64", "seed2: int64"), {**_TYPED, **_extra})
    _dataset(
        f"{_prefix}DenseToSparseBatchDataset",
        (_SOURCE, "batch_size: int64", "row_shape: int64"),
        _TYPED,
    )
_dataset("CacheDataset", (_SOURCE, "filename: string"), _NAMED)
_dataset(
    "PrefetchDataset",
    (_SOURCE, "buffer_size: int64"),
    {"slack_period": 0, "legacy_autotune": True, "buffer_size_min": 0, **_NAMED},
)
for _op in ("IgnoreErrorsDataset", "ExperimentalIgnoreErrorsDataset"):
    _dataset(_op, (_SOURCE,), {**_TYPED, "log_warning": False})
_dataset("ModelDataset", (_SOURCE,), {"algorithm": 0, "cpu_budget": 0, "ram_budget": 0, **_TYPED})
_dataset("OptionsDataset", (_SOURCE,), {"serialized_options": bytes, **_NAMED})
_dataset(
    "OptimizeDataset", (_SOURCE, "optimizations: string"), {**_TYPED, "optimization_configs": []}
)
_dataset("RewriteDataset", (_SOURCE, "rewrite_name: string"), _TYPED)
_dataset("FinalizeDataset", (_SOURCE,), {"has_captured_ref": False, **_TYPED})

_MAP = {"f": function.Reference, **_CALLS, "use_inter_op_parallelism": True}
_calling(
    "MapDataset",
    (_SOURCE, _ARGUMENTS),
    {**_MAP, "preserve_cardinality": False, "force_synchronous": False},
)
_calling(
    "ParallelMapDataset",
    (_SOURCE, _ARGUMENTS, "num_parallel_calls: int32"),
    {**_MAP, "sloppy": False, "preserve_cardinality": False},
)
_calling(
    "ParallelMapDatasetV2",
    (_SOURCE, _ARGUMENTS, "num_parallel_calls: int64"),
    {
        **_MAP,
        "deterministic": b"default",
        "preserve_cardinality": False,
        "use_unbounded_threadpool": False,
    },
)
_BATCHED = (
    _SOURCE,
    _ARGUMENTS,
    "batch_size: int64",
    "num_parallel_calls: int64",
    "drop_remainder: bool",
)
_FUNCTION = {"f": function.Reference, **_CALLS}
for _op in ("MapAndBatchDataset", "ExperimentalMapAndBatchDataset"):
    _calling(_op, _BATCHED, {**_FUNCTION, "preserve_cardinality": False})
for _op in ("FilterDataset", "TakeWhileDataset"):
    _calling(_op, (_SOURCE, _ARGUMENTS), {"predicate": function.Reference, **_CALLS})
_calling("FlatMapDataset", (_SOURCE, _ARGUMENTS), _FUNCTION)
_CYCLE = (_SOURCE, _ARGUMENTS, "cycle_length: int64", "block_length: int64")
_calling("InterleaveDataset", _CYCLE, _FUNCTION)
_calling(
    "ParallelInterleaveDatasetV2",
    (*_CYCLE, "num_parallel_calls: int64"),
    {**_FUNCTION, "sloppy": False},
)
_AHEAD = ("buffer_output_elements: int64", "prefetch_input_elements: int64")
_calling(
    "ParallelInterleaveDatasetV4",
    (*_CYCLE, *_AHEAD, "num_parallel_calls: int64"),
    {**_FUNCTION, "deterministic": b"default"},
)
for _op in ("ParallelInterleaveDataset", "ExperimentalParallelInterleaveDataset"):
    _calling(_op, (*_CYCLE, "sloppy: bool", *_AHEAD), _FUNCTION)
_calling(
    "LegacyParallelInterleaveDatasetV2",
    (*_CYCLE, *_AHEAD),
    {**_FUNCTION, "deterministic": b"default"},
)
_calling(
    "ScanDataset",
    (_SOURCE, "initial_state: Tstate", _ARGUMENTS),
    {**_FUNCTION, "Tstate": list, "preserve_cardinality": False, "use_default_device": True},
)
_PHASES = ("init_func", "next_func", "finalize_func")
_calling(
    "GeneratorDataset",
    tuple(f"{phase}_other_args: T{phase}_args" for phase in _PHASES),
    {
        **dict.fromkeys(_PHASES, function.Reference),
        **{f"T{phase}_args": list for phase in _PHASES},
        **_NAMED,
    },
)


def _grouping(name: str, functions: tuple[str, ...], attrs: dict[str, Any]) -> None:
    _calling(
        name,
        (_SOURCE, *(f"{each}_other_arguments: T{each}_other_arguments" for each in functions)),
        {
            **dict.fromkeys(functions, function.Reference),
            **{f"T{each}_other_arguments": list for each in functions},
            **attrs,
        },
    )


_grouping("GroupByWindowDataset", ("key_func", "reduce_func", "window_size_func"), _NAMED)
for _op in ("GroupByReducerDataset", "ExperimentalGroupByReducerDataset"):
    _grouping(_op, ("key_func", "init_func", "reduce_func", "finalize_func"), _TYPED)
_FILES = ("filenames: string", "compression_type: string", "buffer_size: int64")
_dataset("TextLineDataset", _FILES, {"metadata": b""}, facts.EXTERNAL)
_dataset("TFRecordDataset", _FILES, {"metadata": b""}, facts.EXTERNAL)
_RECORDS = (
    "filenames: string",
    "header_bytes: int64",
    "record_bytes: int64",
    "footer_bytes: int64",
    "buffer_size: int64",
)
_dataset("FixedLengthRecordDataset", _RECORDS, {"metadata": b""}, facts.EXTERNAL)
_dataset(
    "FixedLengthRecordDatasetV2",
    (*_RECORDS, "compression_type: string"),
    {"metadata": b""},
    facts.EXTERNAL,
)
