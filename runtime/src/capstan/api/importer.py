"""`tf.import_graph_def` (python/framework/importer.py)."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from capstan import errors
from capstan.api import imported_nodes
from capstan.core import attr_value, graph_def, node
from capstan.framework import convert, function_def, opdef
from capstan.framework import graph as graphs

__all__ = ["import_graph_def"]

_LAST_WITHOUT_UNKNOWN_RANKS = 21
"""The last version whose placeholders of unknown rank have a shape without axes, as scalars do."""
_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\\-/>]*\Z")


def import_graph_def(
    graph_def: Any,
    input_map: Mapping[str, Any] | None = None,
    return_elements: Sequence[str] | None = None,
    name: str | None = None,
    op_dict: Any = None,
    producer_op_list: Any = None,
) -> list[Any] | None:
    """Add the nodes and functions of a GraphDef to the default graph.

    The names of the new operations begin with `name`, by default "import". `input_map` maps names
    of tensors in `graph_def` to the tensors that replace them as inputs. Return the operations and
    tensors that `return_elements` names. Without `return_elements`, return None. `producer_op_list`
    is the OpList of the program that wrote the GraphDef. An attribute that Capstan's op lacks is
    left out if it has the default of this OpList. Other unknown attributes are kept. `op_dict` has
    no effect.

    Raises:
        TypeError: an argument is of the wrong kind.
        ValueError: `graph_def` is not well-formed, excludes this version of Capstan, or lacks a
            name of `input_map` or `return_elements`.
        NotFoundError: Capstan does not have the op of a node.
    """
    message = _as_graph_def(graph_def)
    _check_versions(message.versions)
    if message.versions.producer <= _LAST_WITHOUT_UNKNOWN_RANKS:
        _forget_scalars(message)
    given, wanted = _checked(input_map), _checked_elements(return_elements)
    graph = graphs.get_default_graph()
    with graph.name_scope("import" if name is None else name) as scope:
        mapped = {_tensor(key): value for key, value in _tensors(name, given).items()}
    if producer_op_list is not None:
        _drop_unknown_defaults(message, producer_op_list)
    names = {each.name for each in message.node}
    try:
        nodes = [_decoded(each, names, mapped) for each in message.node]
        functions = function_def.decode(message.library)
    except errors.InvalidArgumentError as error:
        raise ValueError(error.message) from None
    for each in functions.values():
        if each.template:
            raise ValueError(
                f"The types of function '{each.name}' are attributes of the call. Define the "
                "function with fixed types to import it"
            )
        graph.add_function(each)
    added = imported_nodes.Import(graph, scope, nodes, mapped)
    added.run()
    added.check_map()
    if wanted is None:
        return None
    return [
        added.tensor(_tensor(element)) if ":" in element else added.operation(element)
        for element in wanted
    ]


def _as_graph_def(given: Any) -> Any:
    from tensorboard.compat.proto import graph_pb2

    if not hasattr(given, "SerializeToString"):
        raise TypeError("Argument `graph_def` must be a GraphDef proto.")
    return graph_pb2.GraphDef.FromString(given.SerializeToString())


def _check_versions(versions: Any) -> None:
    """Raise ValueError if the program that wrote the GraphDef excludes Capstan's version."""
    consumer = graph_def.PRODUCER
    if versions.producer < 0:
        raise ValueError(
            f"GraphDef producer version {versions.producer} below min producer 0 supported by "
            "Capstan.  Please regenerate your graph."
        )
    if versions.min_consumer > consumer:
        raise ValueError(
            f"GraphDef min consumer version {versions.min_consumer} above current version "
            f"{consumer} for Capstan.  Please upgrade Capstan."
        )
    if consumer in versions.bad_consumers:
        raise ValueError(
            f"GraphDef disallows consumer version {consumer}.  Please upgrade Capstan: this "
            "version is likely buggy."
        )


def _forget_scalars(message: Any) -> None:
    """Let placeholders of old graphs have any shape if their shape has no axes."""
    for each in message.node:
        if each.op == "Placeholder" and "shape" in each.attr and not each.attr["shape"].shape.dim:
            each.attr["shape"].shape.unknown_rank = True


def _drop_unknown_defaults(message: Any, producer_op_list: Any) -> None:
    """Delete attributes that Capstan's ops lack and that have the defaults of the producer's ops.

    Raises:
        TypeError: `producer_op_list` is not an OpList.
    """
    if not hasattr(producer_op_list, "SerializeToString"):
        raise TypeError("Argument `producer_op_list` must be an OpList proto.")
    producers = {op.name: op for op in producer_op_list.op}
    for each in message.node:
        if each.op not in producers or not opdef.is_defined(each.op):
            continue
        row = opdef.lookup(each.op)
        arguments = (*row.input_arguments, *row.output_arguments)
        known = {*row.attrs, *(name for a in arguments for name in (a.type, a.number) if name)}
        for attr in producers[each.op].attr:
            if attr.name in known or attr.name not in each.attr:
                continue
            # The two messages may be of different classes.
            default = attr.default_value.SerializeToString(deterministic=True)
            value = each.attr[attr.name].SerializeToString(deterministic=True)
            if attr.HasField("default_value") and value == default:
                del each.attr[attr.name]


def _checked(input_map: Any) -> Mapping[str, Any]:
    if input_map is None:
        return {}
    if not isinstance(input_map, dict):
        raise TypeError(
            f"Argument `input_map` must be a dictionary. Obtained {type(input_map).__name__}"
        )
    if not all(isinstance(key, str | bytes) for key in input_map):
        raise TypeError(
            f"All keys for argument `input_map` must be strings. Obtained keys: {list(input_map)}"
        )
    return {attr_value.text(key): value for key, value in input_map.items()}


def _checked_elements(elements: Any) -> list[str] | None:
    if elements is None:
        return None
    if not all(isinstance(element, str | bytes) for element in elements):
        raise TypeError(
            f"Argument `return_elements` must be a list of strings. Obtained {elements}."
        )
    return [attr_value.text(element) for element in elements]


def _tensors(name: str | None, input_map: Mapping[str, Any]) -> dict[str, Any]:
    """Return `input_map` with values converted to tensors. This may add constants to the graph."""
    graph = graphs.get_default_graph()
    is_tensor = [isinstance(value, graphs.Tensor) for value in input_map.values()]
    if all(is_tensor):
        return dict(input_map)
    if name == "":
        raise ValueError(
            "tf.import_graph_def() requires a non-empty `name` if `input_map` contains non-Tensor "
            "values. Try calling tf.convert_to_tensor() on `input_map` values before calling "
            "tf.import_graph_def()."
        )
    with graph.name_scope("_inputs"):
        return {
            key: value if key.startswith("^") else convert.convert_to_tensor(value)
            for key, value in input_map.items()
        }


def _tensor(text: str) -> node.Edge:
    """Return the edge that a key of an input map or a return element names."""
    if text.startswith("^"):
        return node.Edge(text[1:], -1)
    name, *rest = text.split(":")
    if len(rest) > 1:
        raise ValueError(
            f"Cannot convert '{text}' to a tensor name. Tensor names should not contain more than "
            f"1 `:`. Obtained {len(rest)}"
        )
    try:
        return node.Edge(name, int(rest[0]) if rest else 0)
    except ValueError:
        raise ValueError(
            f"Cannot convert {text!r} to a tensor name. Second component of the name following "
            f"the `:` should be an int. Got {rest[0]}."
        ) from None


def _decoded(message: Any, names: Collection[str], mapped: Collection[node.Edge]) -> node.Node:
    """Return a node whose inputs are outputs of the nodes `names`, or tensors of `mapped`."""
    if not _NAME.match(message.name):
        raise ValueError(f"Node '{message.name}': Node name contains invalid characters")
    is_control = [text.startswith("^") for text in message.input]
    if is_control != sorted(is_control):
        raise ValueError(
            f"Node '{message.name}': Control dependencies must come after regular dependencies"
        )
    for text in message.input:
        if not (_is_output(text, names) or _is_mapped(text, mapped)):
            raise ValueError(f"Node '{message.name}': Unknown input node '{text}'")
    return graph_def.decode_node(message)


def _is_output(text: str, names: Collection[str]) -> bool:
    if text.startswith("^"):
        return text[1:] in names
    name, colon, index = text.partition(":")
    return name in names and (not colon or index.isdecimal())


def _is_mapped(text: str, mapped: Collection[node.Edge]) -> bool:
    try:
        return _tensor(text) in mapped
    except ValueError:
        return False
