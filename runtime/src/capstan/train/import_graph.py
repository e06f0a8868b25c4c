"""`tf.train.import_meta_graph`: build the graph of a MetaGraphDef and its saver again.

Source: tensorflow/python/framework/meta_graph.py, tensorflow/python/training/saver.py.
"""

import os
from collections.abc import Callable
from typing import Any

from capstan.api import importer, logging, variable_collections, variables
from capstan.core import attr_value, control_flow_messages, queue_runner_messages
from capstan.framework import collection_protos, collections, context_defs, names
from capstan.framework import graph as graphs
from capstan.resources import files
from capstan.train import collection_defs, meta_graph, queue_runner
from capstan.train import saver as savers

_Keys = collections.GraphKeys


def import_meta_graph(
    meta_graph_or_file: Any,
    clear_devices: bool = False,
    import_scope: str | None = None,
    *,
    graph: graphs.Graph | None = None,
    **arguments: Any,
) -> savers.Saver | None:
    """Add the graph of a MetaGraphDef, or of a file that holds one, to `graph`.

    The default for `graph` is the default graph.
    Also add its collections: variables, conditionals, loops, queue runners, savers, names of
    operations, and numbers. Return the saver of the MetaGraphDef. If it has no saver, return a new
    one, or None if the graph has nothing to save below `import_scope`. With `clear_devices`, ignore
    the devices of the operations. `import_scope` becomes the first part of all names. `arguments`
    go to `tf.import_graph_def`.

    Raises:
        OSError: the file does not exist or holds no MetaGraphDef.
        ValueError: the graph is not well-formed.
    """
    saver, _ = import_meta_graph_with_return_elements(
        meta_graph_or_file, clear_devices, import_scope, graph=graph, **arguments
    )
    return saver


def import_meta_graph_with_return_elements(
    meta_graph_or_file: Any,
    clear_devices: bool = False,
    import_scope: str | None = None,
    *,
    graph: graphs.Graph | None = None,
    **arguments: Any,
) -> tuple[savers.Saver | None, list[Any] | None]:
    """Do what `import_meta_graph` does. Also return the operations and tensors in `arguments`.

    These are the elements that the argument `return_elements` names, or None without it.
    """
    meta = _read(meta_graph_or_file)
    with (graphs.get_default_graph() if graph is None else graph).as_default():
        scope, elements = _add(meta, import_scope, clear_devices=clear_devices, **arguments)
        if meta.HasField("saver_def"):
            return savers.Saver.from_proto(meta.saver_def, scope), elements
        if variable_collections.all_saveable_objects(scope or None):
            return savers.Saver(), elements
    logging.info("Saver not created because there are no variables in the graph to restore")
    return None, elements


def import_scoped_meta_graph(
    meta_graph_or_file: Any,
    clear_devices: bool = False,
    graph: graphs.Graph | None = None,
    import_scope: str | None = None,
    input_map: dict[str, Any] | None = None,
    unbound_inputs_col_name: str | None = "unbound_inputs",
    restore_collections_predicate: Callable[[str], bool] = lambda key: True,
) -> dict[str, variables.Variable]:
    """Add a MetaGraphDef to `graph`, or to the default graph. Return its variables by name.

    The names in the result do not contain `import_scope`. Without `import_scope`, the current name
    scope becomes the first part of all names. `input_map` maps each name in the collection
    `unbound_inputs_col_name` to a tensor, and is not checked if this is None. Only the collections
    whose keys satisfy `restore_collections_predicate` are added.

    Raises:
        OSError: the file does not exist or holds no MetaGraphDef.
        ValueError: the graph is not well-formed, or an unbound input has no tensor.
    """
    meta = _read(meta_graph_or_file)
    with (graphs.get_default_graph() if graph is None else graph).as_default() as around:
        scope, _ = _add(
            meta,
            import_scope,
            clear_devices=clear_devices,
            unbound=unbound_inputs_col_name,
            wanted=restore_collections_predicate,
            input_map=input_map,
        )
        members = around.get_collection(_Keys.GLOBAL_VARIABLES, scope)
    return {names.without_scope(variable.name, scope): variable for variable in members}


def copy_scoped_meta_graph(
    from_scope: str,
    to_scope: str,
    from_graph: graphs.Graph | None = None,
    to_graph: graphs.Graph | None = None,
) -> dict[str, variables.Variable]:
    """Copy the part of a graph in `from_scope` to `to_scope`. Return its new variables by name.

    Both graphs are the default graph by default. The names in the result do not contain `to_scope`.

    Raises:
        ValueError: the copy would have the names of the original, or needs a tensor from outside.
    """
    source = graphs.get_default_graph() if from_graph is None else from_graph
    target = graphs.get_default_graph() if to_graph is None else to_graph
    if source is target and from_scope == to_scope:
        raise ValueError(
            "'from_scope' and 'to_scope' need to be different when performing copy in the same "
            f"graph. Both are {from_scope!r}."
        )
    meta, _ = meta_graph.export_scoped_meta_graph(graph=source, export_scope=from_scope)
    return import_scoped_meta_graph(meta, graph=target, import_scope=to_scope)


def _add(
    meta: Any,
    import_scope: str | None,
    *,
    clear_devices: bool,
    unbound: str | None = "unbound_inputs",
    wanted: Callable[[str], bool] = lambda key: True,
    **arguments: Any,
) -> tuple[str | None, list[Any] | None]:
    """Add a MetaGraphDef to the default graph.

    Return the scope of its operations, and the elements that the caller asked for.
    """
    _check_bound(meta, unbound, arguments.get("input_map") or {})
    if clear_devices:
        for node in meta.graph_def.node:
            node.device = ""
    graph = graphs.get_default_graph()
    scope: str | None
    if import_scope:
        scope, name = graph.unique_name(import_scope, mark_as_used=False), import_scope
    else:
        scope = graph.get_name_scope() or None
        name = f"{scope}/" if scope else ""
    prefix = _Prefix(graph, scope)
    if meta.meta_info_def.HasField("stripped_op_list"):
        arguments.setdefault("producer_op_list", meta.meta_info_def.stripped_op_list)
    elements = importer.import_graph_def(meta.graph_def, name=name, **arguments)
    known: dict[str, variables.Variable] = {}
    for key in sorted(meta.collection_def):
        if key != unbound and wanted(key):
            for member in _members(key, meta.collection_def[key], prefix, known):
                graph.add_to_collection(key, member)
    return scope, elements


def _check_bound(meta: Any, key: str | None, input_map: dict[str, Any]) -> None:
    """Raise ValueError if an unbound input of the graph has no tensor in `input_map`."""
    if key is None or key not in meta.collection_def:
        return
    needed = [attr_value.text(name) for name in meta.collection_def[key].bytes_list.value]
    missing = [name for name in needed if name not in input_map]
    if missing or (needed and sorted(set(needed)) != sorted(input_map)):
        raise ValueError(
            f"Graph contains unbound inputs: {','.join(missing)}. Must provide these inputs "
            "through input_map."
        )


class _Prefix:
    """The default graph, and the import scope, which becomes a prefix of all imported names."""

    def __init__(self, graph: graphs.Graph, scope: str | None) -> None:
        self.graph = graph
        self.scope = scope

    def name(self, name: str) -> str:
        return f"{self.scope}/{name}" if self.scope and name else name


def _read(given: Any) -> Any:
    """Return `given` as a MetaGraphDef. If `given` is a path, read the MetaGraphDef there."""
    from tensorboard.compat.proto import meta_graph_pb2

    if hasattr(given, "SerializeToString"):
        return meta_graph_pb2.MetaGraphDef.FromString(given.SerializeToString())
    return read_meta_graph_file(given)


def read_meta_graph_file(filename: str | os.PathLike[str]) -> Any:
    """Return the MetaGraphDef in a file, which is binary or text.

    Raises:
        OSError: there is no such file, or it holds no MetaGraphDef.
    """
    from google.protobuf import message, text_format
    from tensorboard.compat.proto import meta_graph_pb2

    path = os.fspath(filename)
    if not files.of(path).exists(path):
        raise OSError(f"File does not exist. Received: {path}.")
    content = files.read_all(path)
    try:
        return meta_graph_pb2.MetaGraphDef.FromString(content)
    except message.DecodeError:
        pass
    try:
        return text_format.Parse(content.decode(), meta_graph_pb2.MetaGraphDef())
    except (UnicodeDecodeError, text_format.ParseError) as error:
        raise OSError(f"Cannot parse file {path}: {error}.") from None


def _members(
    key: str, collection: Any, prefix: _Prefix, known: dict[str, variables.Variable]
) -> list[Any]:
    """Return the members of a collection.

    `known` holds the variables of the import so far, by name. This function adds new variables.
    """
    kind = collection.WhichOneof("kind")
    if kind is None:
        logging.error("Cannot identify data type for collection %s. Skipping.", key)
        return []
    values = list(getattr(collection, kind).value)
    if kind == "node_list":
        return [prefix.graph.as_graph_element(prefix.name(value)) for value in values]
    if kind != "bytes_list":
        return values
    if key in collection_defs.VARIABLES:
        return [_variable(value, prefix, known) for value in values]
    if key in (_Keys.COND_CONTEXT, _Keys.WHILE_CONTEXT):
        return [_context(key, value, prefix) for value in values]
    if key == _Keys.QUEUE_RUNNERS:
        return [_queue_runner(value, prefix) for value in values]
    if key == _Keys.SAVERS:
        return [_saver(value, prefix) for value in values]
    proto_type, _, from_proto = collection_protos.conversion_of(key)
    if proto_type is None or from_proto is None:
        return values
    return [from_proto(proto_type.FromString(value), import_scope=prefix.scope) for value in values]


def _variable(
    content: bytes, prefix: _Prefix, known: dict[str, variables.Variable]
) -> variables.Variable:
    from tensorboard.compat.proto import variable_pb2

    message = variable_pb2.VariableDef.FromString(content)
    name = message.variable_name
    if name not in known:
        known[name] = variables.Variable.from_proto(message, prefix.scope)
    return known[name]


def _queue_runner(content: bytes, prefix: _Prefix) -> queue_runner.QueueRunner:
    message = queue_runner_messages.QueueRunnerDef.FromString(content)
    return queue_runner.QueueRunner.from_proto(message, prefix.scope)


def _saver(content: bytes, prefix: _Prefix) -> savers.Saver:
    from tensorboard.compat.proto import saver_pb2

    return savers.Saver.from_proto(saver_pb2.SaverDef.FromString(content), prefix.scope)


def _context(key: str, content: bytes, prefix: _Prefix) -> Any:
    if key == _Keys.COND_CONTEXT:
        message = control_flow_messages.CondContextDef.FromString(content)
        return context_defs.decode_cond(message, prefix.graph, prefix.scope)
    message = control_flow_messages.WhileContextDef.FromString(content)
    return context_defs.decode_while(message, prefix.graph, prefix.scope)
