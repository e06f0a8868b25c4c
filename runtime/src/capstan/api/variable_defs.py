"""VariableDefs: variables as messages (core/protobuf/variable.proto)."""

from typing import Any

from capstan.api import partitions
from capstan.framework import graph as graphs
from capstan.framework import names


def make(
    state: str,
    initializer: str,
    snapshot: str,
    initial_value: str | None,
    slice_info: partitions.SaveSliceInfo | None,
    export_scope: str | None,
) -> Any:
    """Return a VariableDef. The arguments are names, from which `export_scope` is removed."""
    from tensorboard.compat.proto import variable_pb2

    message = variable_pb2.VariableDef(
        variable_name=names.without_scope(state, export_scope),
        initializer_name=names.without_scope(initializer, export_scope),
        snapshot_name=names.without_scope(snapshot, export_scope),
    )
    if initial_value is not None:
        message.initial_value_name = names.without_scope(initial_value, export_scope)
    if slice_info is not None:
        message.save_slice_info_def.MergeFrom(slice_info.to_proto(export_scope))
    return message


def named_elements(
    variable_def: Any, import_scope: str | None
) -> tuple[graphs.Tensor, graphs.Operation, graphs.Tensor | None, graphs.Tensor | None]:
    """Return the state, the initializer, the snapshot and the initial value of a VariableDef.

    The snapshot and the initial value are None if the VariableDef does not name them.
    """
    graph = graphs.get_default_graph()

    def element(name: str) -> Any:
        return graph.as_graph_element(names.within_scope(name, import_scope)) if name else None

    return (
        element(variable_def.variable_name),
        element(variable_def.initializer_name),
        element(variable_def.snapshot_name),
        element(variable_def.initial_value_name),
    )


def slice_of(variable_def: Any, import_scope: str | None) -> partitions.SaveSliceInfo | None:
    """Return the place of the variable in a partitioned variable, or None."""
    if not variable_def.HasField("save_slice_info_def"):
        return None
    return partitions.SaveSliceInfo(
        save_slice_info_def=variable_def.save_slice_info_def, import_scope=import_scope
    )
