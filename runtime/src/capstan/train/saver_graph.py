"""The part of a graph that saves and restores variables (python/training/saver.py).

In a plain checkpoint, one SaveV2 writes all variables. In a sharded checkpoint, each device has its
own SaveV2, which writes the variables of that device on that device's task. The task of the last
device merges the shards. When restoring, one RestoreV2 for each device runs on that device's task.
"""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from capstan.api import resource_variables, variables
from capstan.core import devices, tensor_shape
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

Named = Mapping[str, Any]
"""Variables by their names in a checkpoint."""


@dataclass(frozen=True, slots=True)
class SaverOps:
    """The operations of a saver. Feed `filename`, then fetch `save` or run `restore`."""

    filename: graphs.Tensor
    save: graphs.Tensor
    restore: graphs.Operation
    variables: Named


def named_variables(var_list: Any) -> dict[str, Any]:
    """Return variables by name, sorted by name.

    The names are the keys of `var_list` if it is a dictionary, else the names of the operations.

    Raises:
        TypeError: a member of `var_list` is not a variable.
        ValueError: two variables have the same name.
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
    """Add the saver's operations to the default graph, in the name scope `name`."""
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
    """Return the CPU of a device's task. Operations on files and strings run there."""
    spec = devices.parse(device)
    return spec.merged(devices.DeviceSpec(device_type="CPU", device_index=0)).to_string()


def _plain_save(prefix: graphs.Tensor, named: Named) -> graphs.Tensor:
    saved = _save(prefix, named)
    with prefix.graph.control_dependencies([saved]):
        done: graphs.Tensor = raw.Identity(prefix, name="control_dependency")
        return done


def _sharded_save(prefix: graphs.Tensor, groups: Sequence[tuple[str, Named]]) -> graphs.Tensor:
    graph = prefix.graph
    # An old and a new chief may save to the same path at once. A random name keeps them apart.
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
    tensors = [var._as_graph_element() for var in named.values()]
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
            assigned.append(_assigned(var, value, shape))
    return assigned


def _assigned(var: Any, value: graphs.Tensor, shape: tensor_shape.TensorShape) -> graphs.Operation:
    if resource_variables.is_resource_variable(var):
        with var.graph.device(var.device):
            operation: graphs.Operation = raw.AssignVariableOp(var.handle, raw.Identity(value))
            return operation
    assign = raw.Assign(var.op.outputs[0], value, validate_shape=shape.is_fully_defined())
    output: graphs.Operation = assign.op
    return output
