"""GraphDefs that compute less than the graphs they are made of (optimize_for_inference_lib.py).

Source: tensorflow/python/tools/optimize_for_inference_lib.py. TensorFlow also fuses the resizing of
images with convolutions. Capstan does not: the results are the same.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from capstan.api import graph_stripping, graph_util, logging
from capstan.core import tensor_proto
from capstan.core.arrays import Array

__all__ = [
    "ensure_graph_is_valid",
    "fold_batch_norms",
    "node_from_map",
    "node_name_from_input",
    "optimize_for_inference",
    "values_from_const",
]

_OLD = "BatchNormWithGlobalNormalization"
_FUSED = ("convolution", "gamma", "beta", "mean", "variance")
_INPUTS = {
    _OLD: ("convolution", "mean", "variance", "beta", "gamma"),
    **dict.fromkeys(("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"), _FUSED),
}
"""The inputs of the ops that normalize, in order."""


def optimize_for_inference(
    input_graph_def: Any,
    input_node_names: Sequence[str],
    output_node_names: Sequence[str],
    placeholder_type_enum: int | Sequence[int],
    toco_compatible: bool = False,
) -> Any:
    """Return a GraphDef that computes the outputs from placeholders for the inputs.

    It lacks the nodes that only training needs. Normalizations are folded into the weights of their
    convolutions. `toco_compatible` has no effect.

    Raises:
        ValueError: two nodes have one name, or an input of a node is missing.
        KeyError: the graph lacks an input.
    """
    ensure_graph_is_valid(input_graph_def)
    outputs = list(output_node_names)
    found = graph_stripping.strip_unused(
        input_graph_def, input_node_names, outputs, placeholder_type_enum
    )
    found = fold_batch_norms(graph_util.remove_training_nodes(found, outputs))
    ensure_graph_is_valid(found)
    return found


def ensure_graph_is_valid(graph_def: Any) -> None:
    """Check that the names of nodes differ, and that each node has its inputs.

    Raises:
        ValueError: this is not so.
    """
    names = _by_name(graph_def)
    for node in graph_def.node:
        for each in node.input:
            if node_name_from_input(each) not in names:
                raise ValueError(f"Input for {node.name} not found: {each}")


def node_name_from_input(node_name: str) -> str:
    """Return the name of the node in an entry of `NodeDef.input`.

    >>> node_name_from_input("^check"), node_name_from_input("split:1")
    ('check', 'split')
    """
    name, _, index = node_name.removeprefix("^").rpartition(":")
    return name if name and index.isdigit() else node_name.removeprefix("^")


def node_from_map(node_map: Mapping[str, Any], name: str) -> Any:
    """Return the node that an entry of `NodeDef.input` names.

    Raises:
        ValueError: there is none.
    """
    found = node_map.get(node_name_from_input(name))
    if found is None:
        raise ValueError(f"No node named '{name}' found in map.")
    return found


def values_from_const(node_def: Any) -> Array:
    """Return the value of a Const node.

    Raises:
        ValueError: the node has another op.
    """
    if node_def.op != "Const":
        raise ValueError(
            f"Node named '{node_def.name}' should be a Const op for values_from_const."
        )
    return tensor_proto.ndarray(node_def.attr["value"].tensor)


def fold_batch_norms(input_graph_def: Any) -> Any:
    """Return a GraphDef in which convolutions with other weights and a bias replace normalizations.

    A normalization stays if it normalizes no convolution, if a value is not constant, or if another
    node reads the convolution or its weights.

    Raises:
        ValueError: two nodes have one name.
    """
    nodes = _by_name(input_graph_def)
    readers = Counter(
        node_name_from_input(each) for node in input_graph_def.node for each in node.input
    )
    changed: dict[str, list[Any]] = {}
    for node in input_graph_def.node:
        if node.op in _INPUTS:
            changed.update(_folded(nodes, readers, node))
    result = type(input_graph_def)()
    result.CopyFrom(input_graph_def)
    del result.node[:]
    for node in input_graph_def.node:
        result.node.extend(changed.get(node.name, [node]))
    return result


def _by_name(graph_def: Any) -> dict[str, Any]:
    nodes: dict[str, Any] = {}
    for node in graph_def.node:
        if node.name in nodes:
            raise ValueError(f"Duplicate node names detected for {node.name}")
        nodes[node.name] = node
    return nodes


def _folded(
    nodes: Mapping[str, Any], readers: Mapping[str, int], node: Any
) -> dict[str, list[Any]]:
    """Return the nodes that stand for a normalization and its convolution, by replaced nodes."""
    inputs = zip(_INPUTS[node.op], node.input, strict=False)
    given = {part: node_from_map(nodes, each) for part, each in inputs}
    convolution = given.pop("convolution")
    if convolution.op not in ("Conv2D", "DepthwiseConv2dNative"):
        logging.warning("'%s' does not normalize a convolution, and stays.", node.name)
        return {}
    given["weights"] = node_from_map(nodes, convolution.input[1])
    for part, each in given.items():
        if each.op != "Const":
            logging.warning(
                "The %s of '%s' is a %s and no constant: freeze the graph first.",
                *(part, node.name, each.op),
            )
            return {}
    if readers[convolution.name] > 1 or readers[given["weights"].name] > 1:
        return {}
    values = {part: values_from_const(each) for part, each in given.items()}
    weights, epsilon = (
        values["weights"],
        node.attr["variance_epsilon" if node.op == _OLD else "epsilon"].f,
    )
    scale = 1 / np.sqrt(values["variance"] + epsilon)
    if node.op != _OLD or node.attr["scale_after_normalization"].b:
        scale = scale * values["gamma"]
    offset = values["beta"] - values["mean"] * scale
    # The channels of a depthwise convolution are the last two axes of the weights.
    shape = weights.shape[-2:] if convolution.op == "DepthwiseConv2dNative" else (-1,)
    scaled = (weights * scale.reshape(shape)).astype(weights.dtype)
    return {
        given["weights"].name: [_constant(given["weights"], given["weights"].name, scaled)],
        convolution.name: [],
        node.name: _biased(convolution, node, given["weights"], offset.astype(weights.dtype)),
        **{
            each.name: []
            for part, each in given.items()
            if part != "weights" and readers[each.name] == 1
        },
    }


def _biased(convolution: Any, node: Any, weights: Any, offset: Array) -> list[Any]:
    """Return a convolution, its bias, and their sum under the name of the normalization."""
    bias = _constant(weights, f"{convolution.name}_bn_offset", offset)
    total = type(node)(name=node.name, op="BiasAdd", input=[convolution.name, bias.name])
    total.attr["T"].CopyFrom(convolution.attr["T"])
    total.attr["data_format"].CopyFrom(convolution.attr["data_format"])
    return [convolution, bias, total]


def _constant(like: Any, name: str, value: Array) -> Any:
    made = type(like)(name=name, op="Const")
    made.attr["dtype"].CopyFrom(like.attr["dtype"])
    made.attr["value"].tensor.CopyFrom(tensor_proto.make(value))
    return made
