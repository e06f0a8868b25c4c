"""The graph of a checkpoint, `model.ckpt-7.meta`: what it takes to use the checkpoint elsewhere.

A MetaGraphDef holds the GraphDef, the names that a saver runs, and the collections. TensorFlow's
`import_meta_graph` reads it. Source: tensorflow/python/framework/meta_graph.py.
"""

import os
import pathlib
import secrets
from collections.abc import Iterable
from typing import Any

from capstan.api import logging
from capstan.framework import graph as graphs


def export_meta_graph(
    filename: str | None = None,
    graph: graphs.Graph | None = None,
    saver_def: Any = None,
    collection_list: Iterable[str] | None = None,
    as_text: bool = False,
    clear_devices: bool = False,
) -> Any:
    """Return a graph, by default the default one, as a MetaGraphDef, and write it to `filename`.

    Of the collections, those in `collection_list` are in it, by default all that have names. What
    cannot be written of them is left out. `clear_devices` leaves out where operations stand.
    """
    from tensorboard.compat.proto import meta_graph_pb2

    source = graphs.get_default_graph() if graph is None else graph
    meta = meta_graph_pb2.MetaGraphDef(graph_def=source.as_graph_def())
    if clear_devices:
        for node in meta.graph_def.node:
            node.device = ""
    if saver_def is not None:
        meta.saver_def.CopyFrom(saver_def)
    keys = source.get_all_collection_keys() if collection_list is None else collection_list
    for key in keys:
        if isinstance(key, str):
            _add_collection(meta.collection_def[key], key, source.get_collection(key))
    if filename is not None:
        write(filename, meta, as_text=as_text)
    return meta


def write(filename: str, meta: Any, *, as_text: bool = False) -> None:
    """Write a MetaGraphDef, replacing the file as a whole."""
    from google.protobuf import text_format

    data = text_format.MessageToString(meta).encode() if as_text else meta.SerializeToString()
    temporary = f"{filename}.tmp{secrets.token_hex(8)}"
    pathlib.Path(temporary).write_bytes(data)
    os.replace(temporary, filename)


def _add_collection(collection: Any, key: str, members: Iterable[Any]) -> None:
    for member in members:
        if isinstance(member, bool):
            logging.debug("Collection %s: %r is not written with the graph", key, member)
        elif isinstance(member, int):
            collection.int64_list.value.append(member)
        elif isinstance(member, float):
            collection.float_list.value.append(member)
        elif isinstance(member, str | bytes):
            collection.bytes_list.value.append(
                member.encode() if isinstance(member, str) else member
            )
        elif isinstance(member, graphs.Tensor | graphs.Operation):
            collection.node_list.value.append(member.name)
        elif hasattr(member, "to_proto"):
            collection.bytes_list.value.append(member.to_proto().SerializeToString())
        else:
            logging.debug("Collection %s: %r is not written with the graph", key, member)
