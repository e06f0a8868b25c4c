"""The modules of `tensorflow.python.data`: where Capstan has their names."""

from capstan.core import alias

_DATA = "capstan.api.data"
_EXPERIMENTAL = "capstan.api.data_experimental"
_STATS = "capstan.api.data_stats"
_TURNS = "capstan.api.multi_device_iterator"
_OF_EXPERIMENTS = (
    *("batching", "counter", "distribute_options", "enumerate_ops", "error_ops"),
    *("get_single_element", "grouping", "interleave_ops", "iterator_ops"),
    *("optimization_options", "parsing_ops", "prefetching_ops", "random_ops", "readers"),
    *("resampling", "scan_ops", "shuffle_ops", "stats_options", "take_while_ops"),
    *("threading_options", "unique", "writers"),
)
_DATASETS = {
    **dict.fromkeys(("DatasetV1", "DatasetV2"), "capstan.api.dataset.Dataset"),
    **{
        f"get_legacy_output_{part}": f"{_DATA}.get_output_{part}"
        for part in ("classes", "shapes", "types")
    },
}
_READERS = {
    f"{name}{version}": f"{_DATA}.{name}"
    for name in ("FixedLengthRecordDataset", "TFRecordDataset", "TextLineDataset")
    for version in ("V1", "V2")
}
_VERSIONS = {
    f"{name}V1": f"{_EXPERIMENTAL}.{name}"
    for name in (
        *("CsvDataset", "RandomDataset", "SqlDataset", "choose_from_datasets"),
        *("make_batched_features_dataset", "make_csv_dataset", "sample_from_datasets"),
    )
}
_CARDINALITIES = {name: f"{_EXPERIMENTAL}.{name}_CARDINALITY" for name in ("INFINITE", "UNKNOWN")}
_DISTRIBUTE = {
    "_AutoShardDataset": "capstan.api.data_distribute.auto_shard",
    "_AutoShardDatasetV1": "capstan.api.data_distribute.auto_shard",
    "_RebatchDataset": "capstan.api.data_distribute.rebatch",
}

TABLE: dict[str, alias.Homes] = {
    "experimental": (_EXPERIMENTAL,),
    "ops.dataset_ops": (_DATASETS, _DATA, _EXPERIMENTAL),
    "ops.iterator_ops": (_DATA, _EXPERIMENTAL),
    "experimental.ops.distribute": (_DISTRIBUTE,),
    "experimental.ops.stats_aggregator": (
        {"StatsAggregatorV1": f"{_STATS}.StatsAggregator"},
        _STATS,
    ),
    "experimental.ops.stats_ops": (_STATS,),
    "experimental.ops.threadpool": (_TURNS,),
    "ops.multi_device_iterator_ops": (_TURNS,),
    "ops.optional_ops": ("capstan.api.data_optional",),
    "ops.readers": (_READERS, _DATA),
    **{f"experimental.ops.{name}": (_VERSIONS, _EXPERIMENTAL) for name in _OF_EXPERIMENTS},
    "experimental.ops.cardinality": (_CARDINALITIES, _EXPERIMENTAL),
    "util.random_seed": ("capstan.framework.random_seed",),
    "util.nest": ("capstan.api.data_nest",),
    "util.structure": ("capstan.api.data_elements",),
}
"""The homes of each module, by its path below `tensorflow.python.data`."""
