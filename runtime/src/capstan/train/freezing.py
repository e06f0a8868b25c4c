"""GraphDefs whose variables have the values of a checkpoint (tools/freeze_graph.py)."""

import re
from collections.abc import Sequence
from typing import Any

from capstan.api import file_contents, graph_stripping, graph_util, importer
from capstan.client import session
from capstan.framework import graph as graphs
from capstan.train import (
    checkpoint_reader,
    checkpoint_state,
    import_graph,
    saver,
    saver_builder,
)
from capstan.train.saved_model import constants, loader, tags

__all__ = ["freeze_graph", "freeze_graph_with_def_protos"]


def freeze_graph(
    input_graph: str | None,
    input_saver: str | None,
    input_binary: bool,
    input_checkpoint: str | None,
    output_node_names: str,
    restore_op_name: str | None,
    filename_tensor_name: str | None,
    output_graph: str,
    clear_devices: bool,
    initializer_nodes: str,
    variable_names_whitelist: str = "",
    variable_names_blacklist: str = "",
    input_meta_graph: str | bool | None = None,
    input_saved_model_dir: str | None = None,
    saved_model_tags: str = constants.SERVING,
    checkpoint_version: int = saver_builder.V2,
) -> Any:
    """Write a GraphDef whose variables are constants, and return it. Blocks.

    The graph is in the file `input_graph` or `input_meta_graph`, or in a SavedModel. Files that are
    not binary have text. The other arguments are those of `freeze_graph_with_def_protos`.

    Raises:
        OSError: there is no such file.
        ValueError: as for `freeze_graph_with_def_protos`.
    """
    from tensorboard.compat.proto import graph_pb2, meta_graph_pb2, saver_pb2

    graph = meta = saver_def = None
    if input_saved_model_dir:
        graph = tags.get_meta_graph_def(input_saved_model_dir, saved_model_tags).graph_def
    elif input_graph:
        graph = graph_stripping.parsed(input_graph, input_binary, "graph", graph_pb2.GraphDef)
    if input_meta_graph:
        meta = graph_stripping.parsed(
            str(input_meta_graph), input_binary, "meta graph", meta_graph_pb2.MetaGraphDef
        )
    if input_saver:
        saver_def = graph_stripping.parsed(input_saver, input_binary, "saver", saver_pb2.SaverDef)
    return freeze_graph_with_def_protos(
        graph, saver_def, input_checkpoint, output_node_names, restore_op_name,
        filename_tensor_name, output_graph, clear_devices, initializer_nodes,
        variable_names_whitelist, variable_names_blacklist, meta, input_saved_model_dir,
        _names(saved_model_tags), checkpoint_version,
    )  # fmt: skip


def freeze_graph_with_def_protos(
    input_graph_def: Any,
    input_saver_def: Any,
    input_checkpoint: str | None,
    output_node_names: str,
    restore_op_name: str | None,
    filename_tensor_name: str | None,
    output_graph: str | None,
    clear_devices: bool,
    initializer_nodes: str,
    variable_names_whitelist: str = "",
    variable_names_blacklist: str = "",
    input_meta_graph_def: Any = None,
    input_saved_model_dir: str | None = None,
    saved_model_tags: Sequence[str] | None = None,
    checkpoint_version: int = saver_builder.V2,
) -> Any:
    """Return the part of a graph that the outputs need, with constants for its variables. Blocks.

    Adds the graph to the default graph, restores the checkpoint, and runs `initializer_nodes`. The
    names of nodes and variables are comma-separated. Writes the file `output_graph` if it has a
    name. `restore_op_name` and `filename_tensor_name` have no effect, as in TensorFlow.

    Raises:
        ValueError: the checkpoint is missing, there are no outputs, or the graph has no variables.
    """
    if not input_saved_model_dir and not checkpoint_state.checkpoint_exists(str(input_checkpoint)):
        raise ValueError(f"Input checkpoint '{input_checkpoint}' doesn't exist!")
    if not output_node_names:
        raise ValueError("You need to supply the name of a node to --output_node_names.")
    source = input_meta_graph_def.graph_def if input_meta_graph_def else input_graph_def
    if clear_devices:
        for node in source.node:
            node.device = ""
    if input_graph_def:
        importer.import_graph_def(input_graph_def, name="")
    with session.Session() as sess:
        if input_saved_model_dir and not (input_saver_def or input_meta_graph_def):
            loader.load(sess, saved_model_tags or [], input_saved_model_dir)
        else:
            restorer = _restorer(input_saver_def, input_meta_graph_def, input_checkpoint)
            restorer.restore(sess, str(input_checkpoint))
            if initializer_nodes and not input_saver_def:
                sess.run(_names(initializer_nodes))
        frozen = graph_util.convert_variables_to_constants(
            sess,
            source,
            _names(output_node_names),
            _names(variable_names_whitelist) or None,
            _names(variable_names_blacklist) or None,
        )
    if output_graph:
        file_contents.write_string_to_file(output_graph, frozen.SerializeToString())
    return frozen


def _restorer(saver_def: Any, meta: Any, checkpoint: str | None) -> saver.Saver:
    """Return a saver of the default graph, to which the graph of `meta` is added."""
    if saver_def:
        return saver.Saver(saver_def=saver_def)
    if meta:
        found = import_graph.import_meta_graph(meta, clear_devices=True)
        if found is None:
            raise ValueError("The meta graph has no variables.")
        return found
    operations = {op.name: op for op in graphs.get_default_graph().get_operations()}
    shapes = checkpoint_reader.NewCheckpointReader(str(checkpoint)).get_variable_to_shape_map()
    restored = {name: operations[name].outputs[0] for name in shapes if name in operations}
    try:
        return saver.Saver(restored)
    except TypeError:
        if any(f"{name}/part_" in op for op in operations for name in restored):
            raise ValueError(
                "Models containing partition variables cannot be converted from checkpoint files. "
                "Please pass in a SavedModel using the flag --input_saved_model_dir."
            ) from None
        if not any(map(_is_variable, operations.values())):
            raise ValueError(
                "No variables were found in this model. It is likely the model was frozen "
                "previously. You cannot freeze a graph twice."
            ) from None
        raise


def _is_variable(op: graphs.Operation) -> bool:
    return re.fullmatch("Variable.*|.*VariableOp", op.type) is not None


def _names(listed: str) -> list[str]:
    """Return the names of a list with commas."""
    text = listed.replace(" ", "")
    return text.split(",") if text else []
