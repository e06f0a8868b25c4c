"""The assets of a SavedModel: files such as vocabularies, which are copied into its folder.

A string constant of the graph names each file. `load` feeds the constant with the name of the copy.
Source: tensorflow/python/saved_model/builder_impl.py.
"""

import os
from collections.abc import Iterable
from typing import Any, Final

from capstan.api import file_io
from capstan.core import dtypes
from capstan.framework import facts, opdef
from capstan.framework import graph as graphs
from capstan.resources import file_names, files
from capstan.train.saved_model import constants

_TYPE: Final = "type.googleapis.com/tensorflow.AssetFileDef"
"""TensorFlow's name of the message. The message of tensorboard has another package."""


def copied(tensors: Iterable[Any], export_dir: str) -> list[Any]:
    """Copy the files that constants name, and return the AssetFileDefs of the copies.

    Two files of the same name with different contents get different names.

    Raises:
        TypeError: a member of `tensors` is not a scalar string constant.
        ValueError: a name is empty.
    """
    from tensorboard.compat.proto import meta_graph_pb2

    sources: dict[str, str] = {}
    made = []
    for tensor in tensors:
        path = _path(tensor)
        name = _unused_name(path, sources)
        sources[name] = path
        asset = meta_graph_pb2.AssetFileDef(filename=name)
        asset.tensor_info.name = tensor.name
        made.append(asset)
    folder = file_names.joined(export_dir, constants.ASSETS_DIRECTORY)
    for name, path in sources.items():
        files.of(folder).make_folders(folder)
        if file_io.file_exists(path):
            file_io.copy(path, file_names.joined(folder, name), overwrite=True)
    return made


def collect(made: Iterable[Any]) -> None:
    """Add AssetFileDefs to the collection of the default graph that MetaGraphDefs contain."""
    from google.protobuf import any_pb2

    for asset in made:
        message = any_pb2.Any(type_url=_TYPE, value=asset.SerializeToString())
        graphs.get_default_graph().add_to_collection(constants.ASSETS_KEY, message)


def feeds(export_dir: str, meta: Any, import_scope: str | None) -> dict[str, str]:
    """Return the names of the asset files of a MetaGraphDef, by the names of their tensors."""
    folder = file_names.joined(export_dir, constants.ASSETS_DIRECTORY)
    start = f"{import_scope}/" if import_scope else ""
    return {
        start + asset.tensor_info.name: file_names.joined(folder, asset.filename)
        for asset in _listed(meta)
    }


def _listed(meta: Any) -> list[Any]:
    from tensorboard.compat.proto import meta_graph_pb2

    if meta.asset_file_def or constants.ASSETS_KEY not in meta.collection_def:
        return list(meta.asset_file_def)
    messages = meta.collection_def[constants.ASSETS_KEY].any_list.value
    return [meta_graph_pb2.AssetFileDef.FromString(message.value) for message in messages]


def _path(tensor: Any) -> str:
    """Return the name of the file in a constant."""
    is_constant = (
        isinstance(tensor, graphs.Tensor)
        and opdef.role(tensor.op.type) is facts.Role.CONSTANT
        and tensor.dtype is dtypes.string
    )
    value = tensor.op.constant_value() if is_constant else None
    if value is None or value.size != 1:
        raise TypeError(
            f"Asset path tensor {tensor} must be a constant of one string: pass the tensors of the "
            "collection tf.GraphKeys.ASSET_FILEPATHS"
        )
    path: str = value.item().decode()
    if not path:
        raise ValueError(f"Invalid asset filepath tensor {tensor}: the name of the file is empty")
    return path


def _unused_name(path: str, sources: dict[str, str]) -> str:
    """Return the last part of a path. Add a number if another file already has this name."""
    base = os.path.basename(path)
    name, count = base, 0
    while name in sources and not _is_same(path, sources[name]):
        count += 1
        name = f"{base}_{count}"
    return name


def _is_same(first: str, second: str) -> bool:
    return first == second or files.read_all(first) == files.read_all(second)
