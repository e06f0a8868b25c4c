"""Rows of the ops that make datasets (tensorflow/core/ops/dataset_ops.cc).

The output is a scalar variant. `resources.dataset` describes its value.
"""

from typing import Any

from capstan.core import function
from capstan.framework import facts
from capstan.framework.opdef import OpDef, define
from capstan.framework.ops import rules

TYPED: dict[str, Any] = {"output_types": list, "output_shapes": list}
NAMED: dict[str, Any] = {**TYPED, "metadata": b""}
_HANDLES = ("variant", "resource")
CALLS: dict[str, Any] = {"Targuments": list, **NAMED}
SOURCE = "input_dataset: variant"
ARGUMENTS = "other_arguments: Targuments"


def dataset(
    name: str,
    inputs: tuple[str, ...],
    attrs: dict[str, Any],
    effect: facts.Effect = facts.PURE,
    role: facts.Role | None = None,
) -> None:
    """Add the row of an op that makes a dataset. Its inputs, except for datasets, are on the host.

    The types and the shapes in `attrs` are those of the elements.
    """
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
            host=tuple(text.split(":")[0] for text in inputs if text.split()[-1] not in _HANDLES),
        )
    )


def calling(name: str, inputs: tuple[str, ...], attrs: dict[str, Any]) -> None:
    """Add the row of an op that makes a dataset which calls functions."""
    dataset(name, inputs, attrs, role=facts.Role.KEEPS)


_COMPONENTS = {"Toutput_types": list, "output_shapes": list, "metadata": b""}
dataset("TensorDataset", ("components: Toutput_types",), _COMPONENTS)
dataset(
    "TensorSliceDataset",
    ("components: Toutput_types",),
    {**_COMPONENTS, "is_files": False, "replicate_on_split": False},
)
dataset(
    "RangeDataset",
    ("start: int64", "stop: int64", "step: int64"),
    {**NAMED, "replicate_on_split": False},
)
dataset("BatchDataset", (SOURCE, "batch_size: int64"), NAMED)
dataset(
    "BatchDatasetV2",
    (SOURCE, "batch_size: int64", "drop_remainder: bool"),
    {"parallel_copy": False, **NAMED},
)
dataset(
    "ParallelBatchDataset",
    (SOURCE, "batch_size: int64", "num_parallel_calls: int64", "drop_remainder: bool"),
    {"parallel_copy": False, **NAMED, "deterministic": b"default"},
)
_PADDED = (
    SOURCE,
    "batch_size: int64",
    "padded_shapes: N * int64",
    "padding_values: Toutput_types",
)
dataset("PaddedBatchDataset", _PADDED, {**_COMPONENTS, "N": int})
dataset(
    "PaddedBatchDatasetV2",
    (*_PADDED, "drop_remainder: bool"),
    {"parallel_copy": False, **_COMPONENTS, "N": int},
)
dataset("UnbatchDataset", (SOURCE,), NAMED)
dataset("ExperimentalUnbatchDataset", (SOURCE,), TYPED)
dataset(
    "WindowDataset",
    (SOURCE, "size: int64", "shift: int64", "stride: int64", "drop_remainder: bool"),
    NAMED,
)
for _op in ("RepeatDataset", "TakeDataset", "SkipDataset"):
    dataset(_op, (SOURCE, "count: int64"), NAMED)
dataset(
    "ShardDataset",
    (SOURCE, "num_shards: int64", "index: int64"),
    {"require_non_empty": False, **NAMED},
)
for _op in ("AutoShardDataset", "ExperimentalAutoShardDataset"):
    dataset(
        _op,
        (SOURCE, "num_workers: int64", "index: int64"),
        {
            "auto_shard_policy": 0,
            **NAMED,
            **({} if _op.startswith("Exp") else {"num_replicas": 0}),
        },
    )
dataset("ConcatenateDataset", (SOURCE, "another_dataset: variant"), NAMED)
dataset("ZipDataset", ("input_datasets: N * variant",), {**NAMED, "N": int})
SHUFFLE = (SOURCE, "buffer_size: int64", "seed: int64", "seed2: int64")
dataset("ShuffleDataset", SHUFFLE, {"reshuffle_each_iteration": True, **NAMED})
dataset(
    "ShuffleAndRepeatDataset",
    (*SHUFFLE, "count: int64"),
    {"reshuffle_each_iteration": True, **NAMED},
)
for _prefix in ("", "Experimental"):
    _extra = {} if _prefix else {"metadata": b""}
    dataset(
        f"{_prefix}DirectedInterleaveDataset",
        ("selector_input_dataset: variant", "data_input_datasets: N * variant"),
        {**TYPED, "N": int, **({} if _prefix else {"stop_on_empty_dataset": False})},
    )
    dataset(f"{_prefix}UniqueDataset", (SOURCE,), {**TYPED, **_extra})
    dataset(f"{_prefix}RandomDataset", ("seed: int64", "seed2: int64"), {**TYPED, **_extra})
    dataset(
        f"{_prefix}DenseToSparseBatchDataset",
        (SOURCE, "batch_size: int64", "row_shape: int64"),
        TYPED,
    )
dataset("CacheDataset", (SOURCE, "filename: string"), NAMED)
dataset(
    "PrefetchDataset",
    (SOURCE, "buffer_size: int64"),
    {"slack_period": 0, "legacy_autotune": True, "buffer_size_min": 0, **NAMED},
)
for _op in ("IgnoreErrorsDataset", "ExperimentalIgnoreErrorsDataset"):
    dataset(_op, (SOURCE,), {**TYPED, "log_warning": False})
dataset("ModelDataset", (SOURCE,), {"algorithm": 0, "cpu_budget": 0, "ram_budget": 0, **TYPED})
dataset("OptionsDataset", (SOURCE,), {"serialized_options": bytes, **NAMED})
dataset("OptimizeDataset", (SOURCE, "optimizations: string"), {**TYPED, "optimization_configs": []})
dataset("RewriteDataset", (SOURCE, "rewrite_name: string"), TYPED)
dataset("FinalizeDataset", (SOURCE,), {"has_captured_ref": False, **TYPED})

_MAP = {"f": function.Reference, **CALLS, "use_inter_op_parallelism": True}
calling(
    "MapDataset",
    (SOURCE, ARGUMENTS),
    {**_MAP, "preserve_cardinality": False, "force_synchronous": False},
)
calling(
    "ParallelMapDataset",
    (SOURCE, ARGUMENTS, "num_parallel_calls: int32"),
    {**_MAP, "sloppy": False, "preserve_cardinality": False},
)
calling(
    "ParallelMapDatasetV2",
    (SOURCE, ARGUMENTS, "num_parallel_calls: int64"),
    {
        **_MAP,
        "deterministic": b"default",
        "preserve_cardinality": False,
        "use_unbounded_threadpool": False,
    },
)
_BATCHED = (
    SOURCE,
    ARGUMENTS,
    "batch_size: int64",
    "num_parallel_calls: int64",
    "drop_remainder: bool",
)
FUNCTION = {"f": function.Reference, **CALLS}
for _op in ("MapAndBatchDataset", "ExperimentalMapAndBatchDataset"):
    calling(_op, _BATCHED, {**FUNCTION, "preserve_cardinality": False})
for _op in ("FilterDataset", "TakeWhileDataset"):
    calling(_op, (SOURCE, ARGUMENTS), {"predicate": function.Reference, **CALLS})
calling("FlatMapDataset", (SOURCE, ARGUMENTS), FUNCTION)
CYCLE = (SOURCE, ARGUMENTS, "cycle_length: int64", "block_length: int64")
calling("InterleaveDataset", CYCLE, FUNCTION)
calling(
    "ParallelInterleaveDatasetV3",
    (*CYCLE, "num_parallel_calls: int64"),
    {**FUNCTION, "deterministic": b"default"},
)
calling(
    "ParallelInterleaveDatasetV2",
    (*CYCLE, "num_parallel_calls: int64"),
    {**FUNCTION, "sloppy": False},
)
_AHEAD = ("buffer_output_elements: int64", "prefetch_input_elements: int64")
calling(
    "ParallelInterleaveDatasetV4",
    (*CYCLE, *_AHEAD, "num_parallel_calls: int64"),
    {**FUNCTION, "deterministic": b"default"},
)
for _op in ("ParallelInterleaveDataset", "ExperimentalParallelInterleaveDataset"):
    calling(_op, (*CYCLE, "sloppy: bool", *_AHEAD), FUNCTION)
calling(
    "LegacyParallelInterleaveDatasetV2",
    (*CYCLE, *_AHEAD),
    {**FUNCTION, "deterministic": b"default"},
)
calling(
    "ScanDataset",
    (SOURCE, "initial_state: Tstate", ARGUMENTS),
    {**FUNCTION, "Tstate": list, "preserve_cardinality": False, "use_default_device": True},
)
_OLD = {"f": function.Reference, "Targuments": list, **TYPED}
calling(
    "ExperimentalMapDataset",
    (SOURCE, ARGUMENTS),
    {
        **_OLD,
        "use_inter_op_parallelism": True,
        "preserve_cardinality": False,
        "force_synchronous": False,
    },
)
calling(
    "ExperimentalScanDataset",
    (SOURCE, "initial_state: Tstate", ARGUMENTS),
    {**_OLD, "Tstate": list, "preserve_cardinality": False},
)
calling(
    "ExperimentalTakeWhileDataset",
    (SOURCE, ARGUMENTS),
    {"predicate": function.Reference, "Targuments": list, **TYPED},
)
_PHASES = ("init_func", "next_func", "finalize_func")
calling(
    "GeneratorDataset",
    tuple(f"{phase}_other_args: T{phase}_args" for phase in _PHASES),
    {
        **dict.fromkeys(_PHASES, function.Reference),
        **{f"T{phase}_args": list for phase in _PHASES},
        **NAMED,
    },
)


def _grouping(name: str, functions: tuple[str, ...], attrs: dict[str, Any]) -> None:
    calling(
        name,
        (SOURCE, *(f"{each}_other_arguments: T{each}_other_arguments" for each in functions)),
        {
            **dict.fromkeys(functions, function.Reference),
            **{f"T{each}_other_arguments": list for each in functions},
            **attrs,
        },
    )


for _op, _attrs in (
    ("GroupByWindowDataset", NAMED),
    ("ExperimentalGroupByWindowDataset", TYPED),
):
    _grouping(_op, ("key_func", "reduce_func", "window_size_func"), _attrs)
for _op in ("GroupByReducerDataset", "ExperimentalGroupByReducerDataset"):
    _grouping(_op, ("key_func", "init_func", "reduce_func", "finalize_func"), TYPED)
FILES = ("filenames: string", "compression_type: string", "buffer_size: int64")
dataset("TextLineDataset", FILES, {"metadata": b""}, facts.EXTERNAL)
dataset("TFRecordDataset", FILES, {"metadata": b""}, facts.EXTERNAL)
_RECORDS = (
    "filenames: string",
    "header_bytes: int64",
    "record_bytes: int64",
    "footer_bytes: int64",
    "buffer_size: int64",
)
dataset("FixedLengthRecordDataset", _RECORDS, {"metadata": b""}, facts.EXTERNAL)
dataset(
    "FixedLengthRecordDatasetV2",
    (*_RECORDS, "compression_type: string"),
    {"metadata": b""},
    facts.EXTERNAL,
)
