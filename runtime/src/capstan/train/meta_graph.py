"""The graph file of a checkpoint, such as `model.ckpt-7.meta`.

The file is a MetaGraphDef. It holds the GraphDef, the names of the saver's operations, and the
collections, so another program can use the checkpoint. TensorFlow's `import_meta_graph` reads it.
Source: tensorflow/python/framework/meta_graph.py.
"""

import os
from collections.abc import Iterable, Iterator
from typing import Any

from capstan.core import attr_value, release
from capstan.framework import collections, names, op_message, opdef
from capstan.framework import graph as graphs
from capstan.resources import durable, files
from capstan.train import collection_defs, scoped_graph

add_collection_def = collection_defs.add_collection_def


def export_meta_graph(
    filename: str | None = None,
    meta_info_def: Any = None,
    graph_def: Any = None,
    saver_def: Any = None,
    collection_list: Iterable[str] | None = None,
    as_text: bool = False,
    graph: graphs.Graph | None = None,
    export_scope: str | None = None,
    clear_devices: bool = False,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
) -> Any:
    """Return `graph`, or the default graph, as a MetaGraphDef.

    `graph_def` replaces the GraphDef of `graph`. The fields of `meta_info_def`, such as the tags,
    are added to the MetaInfoDef.
    If `filename` is given, write the MetaGraphDef to that file too. The MetaGraphDef contains the
    collections of `collection_list`, by default all collections. A collection whose key is not a
    string, or whose members a MetaGraphDef cannot hold, is left out. `clear_devices` removes the
    devices of all operations. `strip_default_attrs` leaves out the attributes that have their
    default values, so that programs which do not know these attributes can read the graph.
    `export_scope` is described at `export_scoped_meta_graph`. `clear_extraneous_savers` leaves out
    the operations of all savers except the saver of `saver_def`, and their members of the
    collection SAVERS.
    """
    meta, _ = export_scoped_meta_graph(
        filename=filename,
        graph_def=graph_def,
        graph=graph,
        export_scope=export_scope,
        as_text=as_text,
        clear_devices=clear_devices,
        saver_def=saver_def,
        clear_extraneous_savers=clear_extraneous_savers,
        strip_default_attrs=strip_default_attrs,
        meta_info_def=meta_info_def,
        collection_list=collection_list,
    )
    return meta


def export_scoped_meta_graph(
    filename: str | None = None,
    graph_def: Any = None,
    graph: graphs.Graph | None = None,
    export_scope: str | None = None,
    as_text: bool = False,
    unbound_inputs_col_name: str | None = "unbound_inputs",
    clear_devices: bool = False,
    saver_def: Any = None,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
    meta_info_def: Any = None,
    collection_list: Iterable[str] | None = None,
) -> tuple[Any, dict[str, Any]]:
    """Return the part of a graph in `export_scope` as a MetaGraphDef, and its variables by name.

    The names in the MetaGraphDef and in the dictionary do not contain the scope. An input from
    outside of the scope gets a name of its own. The collection `unbound_inputs_col_name` holds
    these names, and an import needs a tensor for each of them. Without `export_scope`, return the
    whole graph. `graph_def` replaces the GraphDef of `graph`. The other arguments are those of
    `export_meta_graph`.
    """
    from tensorboard.compat.proto import meta_graph_pb2

    source = graphs.get_default_graph() if graph is None else graph
    nodes = source.as_graph_def() if graph_def is None else graph_def
    scope = export_scope or ""
    excluded = (
        scoped_graph.nodes_of_other_savers(nodes, saver_def) if clear_extraneous_savers else ()
    )
    if scope or excluded:
        nodes, unbound = scoped_graph.exported(nodes, scope, excluded)
        if unbound_inputs_col_name:
            source.get_collection_ref(unbound_inputs_col_name)[:] = unbound
    meta = meta_graph_pb2.MetaGraphDef(graph_def=nodes)
    _add_info(meta, meta_info_def)
    _strip(meta, clear_devices=clear_devices, default_attrs=strip_default_attrs)
    if saver_def is not None:
        meta.saver_def.CopyFrom(saver_def)
    keys = source.get_all_collection_keys() if collection_list is None else collection_list
    for key in keys:
        if key != collections.GraphKeys.SAVERS or not clear_extraneous_savers:
            add_collection_def(meta, key, source, export_scope)
        elif saver_def is not None:
            meta.collection_def[key].bytes_list.value.append(saver_def.SerializeToString())
    if filename is not None:
        files.of(filename).make_folders(os.path.dirname(filename) or ".")
        write(filename, meta, as_text=as_text)
    return meta, {
        names.without_scope(variable.name, scope): variable
        for variable in source.get_collection(collections.GraphKeys.GLOBAL_VARIABLES, scope)
    }


def create_meta_graph_def(
    meta_info_def: Any = None,
    graph_def: Any = None,
    saver_def: Any = None,
    collection_list: Iterable[str] | None = None,
    graph: graphs.Graph | None = None,
    strip_default_attrs: bool = False,
) -> Any:
    """Return a MetaGraphDef of `graph_def`, with the collections of `graph`.

    The default for `graph` is the default graph. The default for `graph_def` is the GraphDef of
    `graph`, with the shapes of its tensors.
    """
    source = graphs.get_default_graph() if graph is None else graph
    return export_meta_graph(
        meta_info_def=meta_info_def,
        graph_def=graph_def or source.as_graph_def(add_shapes=True),
        saver_def=saver_def,
        collection_list=collection_list,
        graph=source,
        strip_default_attrs=strip_default_attrs,
    )


def _add_info(meta: Any, given: Any) -> None:
    """Add the given MetaInfoDef, if any, the version of `tf`, and the ops of the graph.

    The ops are those of the MetaInfoDef if it lists any.
    """
    if given is not None:
        meta.meta_info_def.MergeFrom(given)
    meta.meta_info_def.tensorflow_version = release.TENSORFLOW
    meta.meta_info_def.tensorflow_git_version = release.GIT
    if not meta.meta_info_def.stripped_op_list.op:
        used = stripped_op_list_for_graph(meta.graph_def)
        meta.meta_info_def.stripped_op_list.CopyFrom(used)


def stripped_op_list_for_graph(graph_def: Any) -> Any:
    """Return the OpList of the ops that a GraphDef uses, also in its functions, sorted by name.

    The program that imports the graph then knows the defaults of the attributes that its own ops
    lack. Ops that Capstan does not have are left out.
    """
    from tensorboard.compat.proto import op_def_pb2

    used = sorted(ops_used_by_graph_def(graph_def))
    return op_def_pb2.OpList(
        op=[op_message.encode(opdef.lookup(op)) for op in used if opdef.is_defined(op)]
    )


def ops_used_by_graph_def(graph_def: Any) -> list[str]:
    """Return the ops of a GraphDef and of the functions that it calls, without the functions."""
    functions = {each.signature.name: each for each in graph_def.library.function}
    used: set[str] = set()
    waiting = [graph_def.node]
    while waiting:
        called = {op for node in waiting.pop() for op in _called(node)} - used
        used |= called
        waiting += [functions[op].node_def for op in called if op in functions]
    return [op for op in used if op not in functions]


def _called(node: Any) -> Iterator[str]:
    """Yield the op of a NodeDef, and the functions that its attributes name."""
    yield node.op
    for value in node.attr.values():
        if value.HasField("func"):
            yield value.func.name
        for each in value.list.func:
            yield each.name


def write(filename: str, meta: Any, *, as_text: bool = False) -> None:
    """Write a MetaGraphDef or a GraphDef to a file.

    The new file replaces an existing file atomically. The call blocks until the new file is on the
    disk.

    Raises:
        OpError: the file cannot be written. An existing file is then unchanged.
    """
    from google.protobuf import text_format

    data = text_format.MessageToString(meta).encode() if as_text else meta.SerializeToString()
    with durable.replacing(filename) as file:
        file.write(data)


def _strip(meta: Any, *, clear_devices: bool, default_attrs: bool) -> None:
    """Delete the devices, or the attributes with default values, of all nodes."""
    if clear_devices:
        for node in meta.graph_def.node:
            node.device = ""
    if default_attrs:
        for function in meta.graph_def.library.function:
            _strip_defaults(function.node_def)
        _strip_defaults(meta.graph_def.node)
        meta.meta_info_def.stripped_default_attrs = True


def _strip_defaults(nodes: Iterable[Any]) -> None:
    """Delete the attributes of NodeDefs that have their default values."""
    for node in nodes:
        if not opdef.is_defined(node.op):
            continue
        row = opdef.lookup(node.op)
        for name, default in row.defaults.items():
            is_default = name in node.attr and node.attr[name] == attr_value.encode(default)
            if is_default and name not in row.assumed:
                del node.attr[name]


def write_graph(graph_or_graph_def: Any, logdir: str, name: str, as_text: bool = True) -> str:
    """Write a graph or a GraphDef to the file `name` in the folder `logdir`. Return its path.

    The folder is made if it does not exist. The call blocks until the file is on the disk.

    Raises:
        OpError: the file cannot be written. An existing file is then unchanged.
    """
    is_graph = isinstance(graph_or_graph_def, graphs.Graph)
    message = graph_or_graph_def.as_graph_def() if is_graph else graph_or_graph_def
    files.of(logdir).make_folders(logdir or ".")
    path = os.path.join(logdir, name)
    write(path, message, as_text=as_text)
    return path
