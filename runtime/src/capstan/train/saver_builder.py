"""The part of a graph that saves and restores variables (python/training/saver.py).

In a plain checkpoint, one SaveV2 writes all variables. In a sharded checkpoint, each device has its
own SaveV2, which writes the variables of that device on that device's task. The task of the last
device merges the shards. When restoring, one RestoreV2 for each device runs on that device's task.
"""

import secrets
from collections.abc import Sequence
from typing import Any

from capstan.api import control_flow_ops
from capstan.core import devices
from capstan.framework import graph as graphs
from capstan.framework import grouping
from capstan.framework.raw import raw
from capstan.resources import bundle, slice_files
from capstan.train import saveable_object

Saveables = Sequence[saveable_object.SaveableObject]

_Values = tuple[saveable_object.SaveableObject, list[graphs.Tensor]]
_Restored = tuple[str, list[_Values], list[Any]]
"""A device, its variables with their values, and the operations that restore its other state."""

V1, V2 = slice_files.VERSION, bundle.VERSION
"""The numbers of TensorFlow's checkpoint formats in a SaverDef."""


class BaseSaverBuilder:
    """Adds the operations of a saver to the default graph, with one RestoreV2 for each saveable.

    A subclass may override `save_op`, `restore_op`, `bulk_restore` and `sharded_filename`.

    `write_version` is the format of the checkpoints: V2, or V1, which TensorFlow has deprecated.

    Raises:
        ValueError: `write_version` is neither V1 nor V2.
    """

    SaveSpec = saveable_object.SaveSpec
    SaveableObject = saveable_object.SaveableObject
    VariableSaveable = saveable_object.ReferenceVariableSaveable
    ResourceVariableSaveable = saveable_object.ResourceVariableSaveable

    def __init__(self, write_version: int = V2) -> None:
        if write_version not in (V1, V2):
            raise ValueError(
                f"Unexpected write_version: {write_version}. Use {V2} for the format V2, or {V1} "
                "for the format V1."
            )
        self._write_version = write_version

    def save_op(self, filename_tensor: graphs.Tensor, saveables: Saveables) -> graphs.Operation:
        """Return an operation that writes the tensors of saveables to one file."""
        specs = [spec for member in saveables for spec in member.specs]
        op = raw.SaveV2 if self._write_version == V2 else raw.SaveSlices
        saved: graphs.Operation = op(
            filename_tensor,
            [spec.name for spec in specs],
            [spec.slice_spec for spec in specs],
            [spec.tensor for spec in specs],
        )
        return saved

    def bulk_restore(
        self,
        filename_tensor: graphs.Tensor,
        saveables: Saveables,
        preferred_shard: int,
        restore_sequentially: bool,
    ) -> list[graphs.Tensor]:
        """Return the tensors of saveables, read from a file."""
        tensors: list[graphs.Tensor] = []
        for member in saveables:
            with filename_tensor.graph.device(on_cpu(member.device)):
                tensors += self.restore_op(filename_tensor, member, preferred_shard)
        return tensors

    def restore_op(
        self,
        filename_tensor: graphs.Tensor,
        saveable: saveable_object.SaveableObject,
        preferred_shard: int,
    ) -> list[graphs.Tensor]:
        """Return the tensors of one saveable, read from a file."""
        return [restored(filename_tensor, [spec])[0] for spec in saveable.specs]

    def sharded_filename(
        self, filename_tensor: graphs.Tensor, shard: int, num_shards: Any
    ) -> graphs.Tensor:
        """Return the name of one shard of a checkpoint."""
        name: graphs.Tensor = raw.ShardedFilename(filename_tensor, shard, num_shards)
        return name

    def build(
        self,
        names_to_saveables: Any,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        filename: str | None = "model",
    ) -> Any:
        """Add the operations of a saver, in the name scope `name`, and return its SaverDef.

        `names_to_saveables` is a dictionary from names in the checkpoint to variables or
        saveables, or a sequence of these. `filename` is the checkpoint of a run without a feed.

        Raises:
            TypeError: a member of `names_to_saveables` is neither a variable nor a saveable.
            ValueError: two members have the same name, a member has two names, or the tensors of
                a saveable are on several devices.
        """
        from tensorboard.compat.proto import saver_pb2

        saveables = saveable_object.saveables(saveable_object.saveables_by_name(names_to_saveables))
        with graphs.get_default_graph().name_scope(name or "save"):
            given = raw.PlaceholderWithDefault(filename or "model", shape=(), name="filename")
            prefix = raw.PlaceholderWithDefault(given, shape=(), name="Const")
            if sharded:
                per_device = _by_device(saveables)
                save = self._add_sharded_save(prefix, per_device)
            else:
                per_device = [("", saveables)]
                save = self._add_save(prefix, saveables)
            restore = self._add_restores(
                prefix,
                per_device,
                is_sharded=sharded,
                is_sequential=restore_sequentially,
                is_reshaping=reshape,
            )
        return saver_pb2.SaverDef(
            filename_tensor_name=prefix.name,
            save_tensor_name=save.name,
            restore_op_name=restore.name,
            max_to_keep=max_to_keep or 0,
            sharded=sharded,
            keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours,
            version=self._write_version,
        )

    def _add_save(self, prefix: graphs.Tensor, saveables: Saveables) -> graphs.Tensor:
        saved = self.save_op(prefix, saveables)
        done: graphs.Tensor = control_flow_ops.with_dependencies([saved], prefix)
        return done

    def _add_sharded_save(
        self, prefix: graphs.Tensor, per_device: Sequence[tuple[str, Saveables]]
    ) -> graphs.Tensor:
        if self._write_version == V1:
            return self._add_sharded_save_v1(prefix, per_device)
        graph = prefix.graph
        # An old and a new chief may save to the same path at once. A random name keeps them apart.
        part = f"_temp_{secrets.token_hex(16)}/part"
        folder = raw.StringJoin([prefix, part])
        shards, device = [], ""
        for number, (device, members) in enumerate(per_device):
            with graph.device(on_cpu(device)):
                shard = self.sharded_filename(folder, number, len(per_device))
                shards.append(self._add_save(shard, members))
        with graph.device(on_cpu(device)):
            merge = raw.MergeV2Checkpoints(raw.Pack(shards), prefix, delete_old_dirs=True)
            with graph.control_dependencies([merge]):
                done: graphs.Tensor = raw.Identity(prefix)
                return done

    def _add_sharded_save_v1(
        self, prefix: graphs.Tensor, per_device: Sequence[tuple[str, Saveables]]
    ) -> graphs.Tensor:
        """Let each device write a file of its own. The name of the checkpoint is a pattern."""
        graph, count, saves = prefix.graph, len(per_device), []
        for number, (device, members) in enumerate(per_device):
            with graph.device(on_cpu(device)):
                shard = self.sharded_filename(prefix, number, count)
                saves.append(self._add_save(shard, members).op)
        with graph.control_dependencies(saves):
            done: graphs.Tensor = raw.ShardedFilespec(prefix, count)
            return done

    def _add_restores(
        self,
        prefix: graphs.Tensor,
        per_device: Sequence[tuple[str, Saveables]],
        *,
        is_sharded: bool,
        is_sequential: bool,
        is_reshaping: bool,
    ) -> graphs.Operation:
        graph = prefix.graph
        given: list[_Restored] = []
        other_state: list[Any] = []
        for shard, (device, members) in enumerate(per_device):
            with graph.device(device):
                number = shard if is_sharded else -1
                tensors = iter(self.bulk_restore(prefix, members, number, is_sequential))
                values = [(member, [next(tensors) for _ in member.specs]) for member in members]
                rest = [pair for pair in values if not _is_variable(pair[0])]
                done = [_assigned(*pair, is_reshaping=is_reshaping) for pair in rest]
            given.append((device, [pair for pair in values if _is_variable(pair[0])], done))
            other_state += done
        # Workers train as soon as the variables have values. Before that, restore the other state
        # of all tasks, such as queues.
        restores = []
        for device, variables, done in given:
            with graph.device(device):
                with graph.control_dependencies(other_state):
                    values_set = [_assigned(*pair, is_reshaping=is_reshaping) for pair in variables]
                name = "restore_shard" if is_sharded else "restore_all"
                restores.append(grouping.group(*done, *values_set, name=name))
        return grouping.group(*restores, name="restore_all") if is_sharded else restores[0]


class BulkSaverBuilder(BaseSaverBuilder):
    """Adds one RestoreV2 for all saveables of a device."""

    def bulk_restore(
        self,
        filename_tensor: graphs.Tensor,
        saveables: Saveables,
        preferred_shard: int,
        restore_sequentially: bool,
    ) -> list[graphs.Tensor]:
        with filename_tensor.graph.device("/cpu:0"):
            return restored(
                filename_tensor, [spec for member in saveables for spec in member.specs]
            )


def restored(
    prefix: graphs.Tensor, specs: Sequence[saveable_object.SaveSpec]
) -> list[graphs.Tensor]:
    """Return the tensors of specs, read from the checkpoint `prefix`."""
    names, slices = [spec.name for spec in specs], [spec.slice_spec for spec in specs]
    types = [spec.dtype.base_dtype for spec in specs]
    return list(raw.RestoreV2(prefix, names, slices, dtypes=types))


def on_cpu(device: str) -> str:
    """Return the CPU of a device's task. Operations on files and strings run there."""
    spec = devices.parse(device)
    return spec.merged(devices.DeviceSpec(device_type="CPU", device_index=0)).to_string()


def _by_device(saveables: Saveables) -> list[tuple[str, Saveables]]:
    groups: dict[str, list[saveable_object.SaveableObject]] = {}
    for member in saveables:
        found = {devices.canonical(spec.device) for spec in member.specs}
        if len(found) != 1:
            raise ValueError(
                f"All tensors of a saveable object must be on the same device: {member.name}"
            )
        groups.setdefault(found.pop(), []).append(member)
    return sorted(groups.items())


def _is_variable(member: saveable_object.SaveableObject) -> bool:
    kinds = saveable_object.ReferenceVariableSaveable, saveable_object.ResourceVariableSaveable
    return isinstance(member, kinds)


def _assigned(
    member: saveable_object.SaveableObject, values: list[graphs.Tensor], *, is_reshaping: bool
) -> Any:
    """Return the operation that gives a saveable its values."""
    shapes = [_shape(spec.tensor) for spec in member.specs] if is_reshaping else None
    return member.restore(values, shapes)


def _shape(tensor: graphs.Tensor) -> Any:
    """Return the shape of a tensor, as a tensor if the shape is not known yet."""
    shape = tensor.get_shape()
    return shape.as_list() if shape.is_fully_defined() else raw.Shape(tensor)
