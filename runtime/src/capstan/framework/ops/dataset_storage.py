"""Rows of the datasets that are kept in files (core/ops/experimental_dataset_ops.cc)."""

from typing import Any

from capstan.core import function
from capstan.framework import facts
from capstan.framework.opdef import OpDef, define
from capstan.framework.ops import rules
from capstan.framework.ops.datasets import NAMED, SOURCE, TYPED, calling, dataset

_SHARDED: dict[str, Any] = {
    "shard_func": function.Reference,
    "Tshard_func_args": list,
    "compression": b"",
}
_READ: dict[str, Any] = {"reader_func": function.Reference, "Treader_func_args": list}
dataset(
    "SnapshotDataset",
    (SOURCE, "path: string"),
    {
        **TYPED,
        **dict.fromkeys(("compression", "reader_path_prefix", "writer_path_prefix"), b""),
        "shard_size_bytes": 10 << 30,
        "pending_snapshot_expiry_seconds": 86400,
        **dict.fromkeys(("num_reader_threads", "reader_buffer_size"), 1),
        **dict.fromkeys(("num_writer_threads", "writer_buffer_size"), 1),
        "shuffle_on_read": False,
        **dict.fromkeys(("seed", "seed2"), 0),
        "mode": b"auto",
        "snapshot_name": b"",
    },
)
calling(
    "SnapshotDatasetV2",
    (
        SOURCE,
        "path: string",
        "reader_func_other_args: Treader_func_args",
        "shard_func_other_args: Tshard_func_args",
    ),
    {
        **NAMED,
        **_READ,
        **_SHARDED,
        **dict.fromkeys(("reader_prefix", "writer_prefix"), b""),
        "hash_valid": False,
        "hash": 0,
    },
)
calling(
    "LoadDataset",
    ("path: string", "reader_func_other_args: Treader_func_args"),
    {**TYPED, **_READ, "compression": b""},
)
_SAVED = (SOURCE, "path: string", "shard_func_other_args: Tshard_func_args")
define(
    OpDef(
        "SaveDataset",
        _SAVED,
        attrs={**_SHARDED, "use_shard_func": True},
        shape=rules.nothing,
        not_differentiable=True,
        effect=facts.EXTERNAL | facts.BLOCKS,
        role=facts.Role.KEEPS,
        host=("path", "shard_func_other_args"),
    )
)
calling("SaveDatasetV2", _SAVED, {**_SHARDED, "use_shard_func": True, **TYPED})
