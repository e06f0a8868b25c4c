"""Graphs without the variables of a pruning
(contrib/model_pruning/python/strip_pruning_vars_lib.py).
"""

from collections.abc import Sequence
from typing import Any, Final

from capstan.api import graph_util, importer, tensor_messages
from capstan.client import session as sessions
from capstan.framework import graph as graphs
from capstan.train import checkpoint_state, import_graph

_MASKED: Final = "masked_weight"


def strip_pruning_vars_fn(input_graph_def: Any, output_node_names: Sequence[str]) -> Any:
    """Return a GraphDef with the products of weights and masks as constants.

    `input_graph_def` has constants in place of variables (`graph_def_from_checkpoint`). Only what
    the nodes `output_node_names` need is kept.
    """
    with graphs.Graph().as_default() as graph, sessions.Session() as session:
        importer.import_graph_def(input_graph_def, name="")
        names = [node.name for node in input_graph_def.node if _MASKED in node.name]
        tensors = [graph.get_tensor_by_name(f"{name}:0") for name in names]
        values = dict(zip(names, session.run(tensors), strict=True))
    pruned = type(input_graph_def)()
    pruned.CopyFrom(input_graph_def)
    for node in pruned.node:
        if node.name in values:
            name, kind = node.name, node.attr["T"].type
            node.Clear()
            node.name, node.op = name, "Const"
            node.attr["dtype"].type = kind
            constant = tensor_messages.make_tensor_proto(values[name])
            node.attr["value"].tensor.CopyFrom(constant)
    return graph_util.extract_sub_graph(pruned, list(output_node_names))


def graph_def_from_checkpoint(checkpoint_dir: str, output_node_names: Sequence[str]) -> Any:
    """Return the graph of the latest checkpoint, with constants in place of variables.

    Raises:
        ValueError: the folder has no checkpoint.
    """
    path = checkpoint_state.latest_checkpoint(checkpoint_dir)
    if path is None:
        raise ValueError(f"Could not find a checkpoint at: {checkpoint_dir}.")
    with graphs.Graph().as_default() as graph, sessions.Session() as session:
        saver: Any = import_graph.import_meta_graph(f"{path}.meta", clear_devices=True)
        saver.restore(session, path)
        return graph_util.convert_variables_to_constants(
            session, graph.as_graph_def(), list(output_node_names)
        )
