"""Parts of a GraphDef between some inputs and some outputs (tools/strip_unused_lib.py)."""

from collections.abc import Sequence
from typing import Any

from capstan.api import file_contents, graph_util, logging
from capstan.resources import files

__all__ = ["strip_unused", "strip_unused_from_files"]


def strip_unused(
    input_graph_def: Any,
    input_node_names: Sequence[str],
    output_node_names: Sequence[str],
    placeholder_type_enum: int | Sequence[int],
) -> Any:
    """Return the part of a GraphDef that the outputs need, with placeholders for the inputs.

    `placeholder_type_enum` is the dtype of all placeholders as a number, or a list of one for each.

    Raises:
        ValueError: an input has the name of a tensor.
        KeyError: the graph lacks an input.
        AssertionError: the graph lacks an output.
    """
    for name in input_node_names:
        if ":" in name:
            raise ValueError(f"Name '{name}' appears to refer to a Tensor, not a Operation.")
    missing = set(input_node_names) - {node.name for node in input_graph_def.node}
    if missing:
        raise KeyError(f"The following input nodes were not found: {missing}")
    changed = type(input_graph_def)()
    changed.CopyFrom(input_graph_def)
    types = placeholder_type_enum
    kinds = [types] * len(input_node_names) if isinstance(types, int) else types
    kind_of = dict(zip(input_node_names, kinds, strict=True))
    for node in changed.node:
        if node.name in kind_of:
            _become_placeholder(node, kind_of[node.name])
    return graph_util.extract_sub_graph(changed, list(output_node_names))


def strip_unused_from_files(
    input_graph: str,
    input_binary: bool,
    output_graph: str,
    output_binary: bool,
    input_node_names: str,
    output_node_names: str,
    placeholder_type_enum: int | Sequence[int],
) -> int | None:
    """Write the part of the GraphDef of one file to another file. The names are comma-separated.

    A file that is not binary has text. Returns -1 if there is no input file or no output name.
    """
    from google.protobuf import text_format
    from tensorboard.compat.proto import graph_pb2

    if not files.of(input_graph).exists(input_graph):
        logging.error("Input graph file '%s' does not exist!", input_graph)
        return -1
    if not output_node_names:
        logging.error("You need to supply the name of a node to --output_node_names.")
        return -1
    stripped = strip_unused(
        parsed(input_graph, input_binary, "graph", graph_pb2.GraphDef),
        input_node_names.split(","),
        output_node_names.split(","),
        placeholder_type_enum,
    )
    content = (
        stripped.SerializeToString() if output_binary else text_format.MessageToString(stripped)
    )
    file_contents.write_string_to_file(output_graph, content)
    logging.info("%d ops in the final graph.", len(stripped.node))
    return None


def parsed(path: str, is_binary: bool, content_name: str, kind: Any) -> Any:
    """Return the message of the class `kind` in a file, which has text if it is not binary.

    Raises:
        OSError: there is no such file. `content_name` says in the error what it should hold.
    """
    from google.protobuf import text_format

    if not files.of(path).exists(path):
        raise OSError(f"Input {content_name} file '{path}' does not exist!")
    content = files.read_all(path)
    return kind.FromString(content) if is_binary else text_format.Parse(content.decode(), kind())


def _become_placeholder(node: Any, dtype: int) -> None:
    """Make a node a placeholder that keeps the name and the shape of the node."""
    kept = {key: node.attr[key] for key in ("_output_shapes", "shape") if key in node.attr}
    placeholder = type(node)(name=node.name, op="Placeholder")
    placeholder.attr["dtype"].type = dtype
    for key, value in kept.items():
        placeholder.attr[key].CopyFrom(value)
    node.CopyFrom(placeholder)
