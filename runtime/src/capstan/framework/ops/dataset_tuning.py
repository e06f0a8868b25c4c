"""Rows of the datasets that have the elements of another dataset.

They tune or observe how TensorFlow runs a dataset (core/ops/experimental_dataset_ops.cc).
"""

from capstan.framework import facts
from capstan.framework.opdef import OpDef, define
from capstan.framework.ops import rules
from capstan.framework.ops.datasets import SOURCE, TYPED, dataset

for _prefix in ("", "Experimental"):
    dataset(
        f"{_prefix}MaxIntraOpParallelismDataset",
        (SOURCE, "max_intra_op_parallelism: int64"),
        TYPED,
    )
    dataset(f"{_prefix}PrivateThreadPoolDataset", (SOURCE, "num_threads: int64"), TYPED)
    dataset(f"{_prefix}ThreadPoolDataset", (SOURCE, "thread_pool: resource"), TYPED, facts.EXTERNAL)
    define(
        OpDef(
            f"{_prefix}ThreadPoolHandle",
            outputs=("handle: resource",),
            attrs={
                "num_threads": int,
                "max_intra_op_parallelism": 1,
                "display_name": bytes,
                "container": b"",
                "shared_name": b"",
            },
            shape=rules.scalar,
            not_differentiable=True,
            effect=facts.MAKES,
            role=facts.Role.HANDLE,
        )
    )
    define(
        OpDef(
            f"{_prefix}StatsAggregatorHandle",
            outputs=("handle: resource",),
            attrs={"container": b"", "shared_name": b""},
            shape=rules.scalar,
            not_differentiable=True,
            effect=facts.MAKES,
            role=facts.Role.HANDLE,
        )
    )
    define(
        OpDef(
            f"{_prefix}StatsAggregatorSummary",
            ("iterator: resource",),
            ("summary: string",),
            shape=rules.scalar,
            not_differentiable=True,
            effect=facts.reads("iterator") | facts.EXTERNAL,
        )
    )
    dataset(
        f"{_prefix}SetStatsAggregatorDataset",
        (SOURCE, "stats_aggregator: resource", "tag: string", "counter_prefix: string"),
        TYPED,
        facts.EXTERNAL,
    )
    dataset(f"{_prefix}NonSerializableDataset", (SOURCE,), TYPED)
    for _kind in ("LatencyStats", "BytesProducedStats"):
        dataset(f"{_prefix}{_kind}Dataset", (SOURCE, "tag: string"), TYPED)
    dataset(f"{_prefix}SleepDataset", (SOURCE, "sleep_microseconds: int64"), TYPED)
    dataset(
        f"{_prefix}ChooseFastestDataset",
        ("input_datasets: N * variant",),
        {"N": int, "num_experiments": int, **TYPED},
    )
dataset(
    "OptimizeDatasetV2",
    (
        SOURCE,
        "optimizations_enabled: string",
        "optimizations_disabled: string",
        "optimizations_default: string",
    ),
    {**TYPED, "optimization_configs": []},
)
for _op in ("WrapDatasetVariant", "UnwrapDatasetVariant"):
    define(
        OpDef(
            _op,
            ("input_handle: variant",),
            ("output_handle: variant",),
            shape=rules.scalar,
            not_differentiable=True,
        )
    )
