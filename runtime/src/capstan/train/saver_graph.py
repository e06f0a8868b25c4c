"""The part of a graph that saves and restores variables (python/training/saver.py).

Plain, one SaveV2 writes all. Sharded, each device's variables are written by a SaveV2 of their own
on that device's task, and the last of these tasks merges the shards. A node of the same device
restores them.
"""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from capstan.api import variables
from capstan.core import devices
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

Named = Mapping[str, Any]
"""Variables by the names that they have in a checkpoint."""


@dataclass(frozen=True, slots=True)
class SaverOps:
    """What a saver runs: feed `filename`, then fetch `save` or run `restore`."""

    filename: graphs.Tensor
    save: graphs.Tensor
    restore: graphs.Operation
    variables: Named


def named_variables(var_list: Any) -> dict[str, Any]:
    """Return variables by name, sorted: a dictionary's own names, else those of their operations.

    Raises:
        TypeError: something that is no variable.
        ValueError: two variables of one name.
    """
    if isinstance(var_list, Mapping):
        pairs: Iterable[tuple[str, Any]] = ((str(name), var_list[name]) for name in var_list)
    else:
        pairs = ((getattr(getattr(var, "op", None), "name", ""), var) for var in var_list)
    found: dict[str, Any] = {}
    for name, var in pairs:
        if not isinstance(var, variables.Variable):
            raise TypeError(f"Variable to save is not a Variable: {var}")
        if name in found:
            raise ValueError(f"At least two variables have the same name: {name}")
        found[name] = var
    return dict(sorted(found.items()))


def build(
    named: Named,
    *,
    filename: str,
    name: str,
    is_sharded: bool,
    is_reshaping: bool,
    is_sequential: bool,
) -> SaverOps:
    """Add the operations to the default graph, in the name scope `name`."""
    graph = graphs.get_default_graph()
    groups = _by_device(named) if is_sharded else [("", named)]
    with graph.name_scope(name):
        prefix = raw.PlaceholderWithDefault(filename, shape=(), name="Const")
        save = _sharded_save(prefix, groups) if is_sharded else _plain_save(prefix, named)
        restored = [
            _restore(prefix, device, group, is_reshaping, is_sequential) for device, group in groups
        ]
        with graph.control_dependencies([op for ops in restored for op in ops]):
            restore = raw.NoOp(name="restore_all")
    return SaverOps(prefix, save, restore, named)


def _by_device(named: Named) -> list[tuple[str, Named]]:
    groups: dict[str, dict[str, Any]] = {}
    for name, var in named.items():
        groups.setdefault(devices.canonical(var.device), {})[name] = var
    return sorted(groups.items())


def _on_cpu(device: str) -> str:
    """Files and strings are the business of a task's CPU, wherever its variables are."""
    spec = devices.parse(device)
    return spec.merged(devices.DeviceSpec(device_type="CPU", device_index=0)).to_string()


def _plain_save(prefix: graphs.Tensor, named: Named) -> graphs.Tensor:
    saved = _save(prefix, named)
    with prefix.graph.control_dependencies([saved]):
        done: graphs.Tensor = raw.Identity(prefix, name="control_dependency")
        return done


def _sharded_save(prefix: graphs.Tensor, groups: Sequence[tuple[str, Named]]) -> graphs.Tensor:
    graph = prefix.graph
    # Two savers at work on one path, an old chief's and a new one's, must not share their parts.
    part = f"_temp_{secrets.token_hex(16)}/part"
    folder = raw.StringJoin([prefix, part])
    shards, saves, device = [], [], ""
    for number, (device, group) in enumerate(groups):
        with graph.device(_on_cpu(device)):
            shard = raw.ShardedFilename(folder, number, len(groups))
            shards.append(shard)
            saves.append(_save(shard, group))
    with graph.device(_on_cpu(device)), graph.control_dependencies(saves):
        merge = raw.MergeV2Checkpoints(raw.Pack(shards), prefix, delete_old_dirs=True)
        with graph.control_dependencies([merge]):
            done: graphs.Tensor = raw.Identity(prefix)
            return done


def _save(prefix: graphs.Tensor, named: Named) -> graphs.Operation:
    tensors = [var.op.outputs[0] for var in named.values()]
    saved: graphs.Operation = raw.SaveV2(prefix, list(named), [""] * len(named), tensors)
    return saved


def _restore(
    prefix: graphs.Tensor, device: str, named: Named, is_reshaping: bool, is_sequential: bool
) -> list[graphs.Operation]:
    graph = prefix.graph
    with graph.device(_on_cpu(device)):
        types = [var.dtype.base_dtype for var in named.values()]
        values = raw.RestoreV2(prefix, list(named), [""] * len(named), dtypes=types)
    assigned: list[graphs.Operation] = []
    for var, value in zip(named.values(), values, strict=True):
        shape = var.get_shape()
        before = assigned[-1:] if is_sequential else []
        with graph.control_dependencies(before):
            if is_reshaping:
                value = raw.Reshape(value, shape.as_list())
            ref = var.op.outputs[0]
            assign = raw.Assign(ref, value, validate_shape=shape.is_fully_defined())
            assigned.append(assign.op)
    return assigned
