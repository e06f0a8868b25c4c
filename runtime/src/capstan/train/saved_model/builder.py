"""Writing of SavedModels.

Sources: tensorflow/python/saved_model/{builder_impl,simple_save}.py.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from capstan.api import file_io, logging
from capstan.core import saved_model_messages
from capstan.framework import collections
from capstan.framework import graph as graphs
from capstan.resources import durable, file_names, files
from capstan.train import saver as savers
from capstan.train.saved_model import assets, constants, signatures


class SavedModelBuilder:
    """Writes a SavedModel to the folder `export_dir`, which may be a URL.

    The first graph comes with the variables, and all other graphs use the same variables. `save`
    writes the graphs. Until then, the folder is not a SavedModel. Not thread-safe.

    Raises:
        AssertionError: the folder exists and is not empty.
    """

    def __init__(self, export_dir: str) -> None:
        self._export_dir = file_io.text(export_dir)
        self._saved_model = saved_model_messages.SavedModel(
            saved_model_schema_version=constants.SAVED_MODEL_SCHEMA_VERSION
        )
        self._has_variables = False
        system = files.of(self._export_dir)
        if system.exists(self._export_dir) and system.names_in(self._export_dir):
            raise AssertionError(
                f"Export directory {self._export_dir} already exists, and isn't empty. Choose "
                "another directory, or delete its files"
            )
        system.make_folders(self._export_dir)

    def add_meta_graph_and_variables(
        self,
        sess: Any,
        tags: Iterable[str],
        signature_def_map: Mapping[str, Any] | None = None,
        assets_collection: Sequence[graphs.Tensor] | None = None,
        legacy_init_op: graphs.Operation | None = None,
        clear_devices: bool = False,
        main_op: graphs.Operation | None = None,
        strip_default_attrs: bool = False,
        saver: savers.Saver | None = None,
    ) -> None:
        """Add the default graph under `tags`, and write the variables of a session. Blocks.

        `load` finds the graph by its tags. `signature_def_map` holds SignatureDefs by name. The
        tensors of `assets_collection` name files, which are copied. `load` runs `main_op` after it
        has restored the variables. `legacy_init_op` is an old name of `main_op`. The default for
        `saver` is a sharded saver of all variables. `tf.train.export_meta_graph` describes the
        other arguments.

        Raises:
            AssertionError: the variables are written already, or a TensorInfo of a signature lacks
                its name or dtype.
            KeyError: a signature has a reserved name.
            TypeError: `main_op` is not an operation, or an asset is not a string constant.
            ValueError: the graph already has a main op.
        """
        if self._has_variables:
            raise AssertionError(
                "Graph state including variables and assets has already been saved. Call "
                "`add_meta_graph()` for further graphs"
            )
        _check_signatures(signature_def_map or {})
        main_op = legacy_init_op if main_op is None else main_op
        _add_collections(assets_collection, main_op, self._export_dir)
        saver = saver or _sharded_saver()
        folder = file_names.joined(self._export_dir, constants.VARIABLES_DIRECTORY)
        files.of(folder).make_folders(folder)
        prefix = file_names.joined(folder, constants.VARIABLES_FILENAME)
        saver.save(sess, prefix, write_meta_graph=False, write_state=False)
        self._add(
            saver,
            tags,
            signature_def_map,
            clear_devices=clear_devices,
            strip_default_attrs=strip_default_attrs,
        )
        self._has_variables = True

    def add_meta_graph(
        self,
        tags: Iterable[str],
        signature_def_map: Mapping[str, Any] | None = None,
        assets_collection: Sequence[graphs.Tensor] | None = None,
        legacy_init_op: graphs.Operation | None = None,
        clear_devices: bool = False,
        main_op: graphs.Operation | None = None,
        strip_default_attrs: bool = False,
        saver: savers.Saver | None = None,
    ) -> None:
        """Add the default graph under `tags`. It uses the variables that are written already.

        The arguments and errors are those of `add_meta_graph_and_variables`.

        Raises:
            AssertionError: no variables are written yet.
        """
        if not self._has_variables:
            raise AssertionError(
                "Graph state including variables and assets has not been saved yet. Call "
                "`add_meta_graph_and_variables()` first"
            )
        _check_signatures(signature_def_map or {})
        main_op = legacy_init_op if main_op is None else main_op
        _add_collections(assets_collection, main_op, self._export_dir)
        self._add(
            saver or _sharded_saver(),
            tags,
            signature_def_map,
            clear_devices=clear_devices,
            strip_default_attrs=strip_default_attrs,
        )

    def save(self, as_text: bool = False) -> bytes:
        """Write the graphs to `saved_model.pb`, or to `saved_model.pbtxt`, and return its name.

        The file appears only when it is complete. Blocks until it is on the disk.
        """
        from google.protobuf import text_format

        name = (
            constants.SAVED_MODEL_FILENAME_PBTXT if as_text else constants.SAVED_MODEL_FILENAME_PB
        )
        path = file_names.joined(self._export_dir, name)
        content = (
            text_format.MessageToString(self._saved_model).encode()
            if as_text
            else self._saved_model.SerializeToString(deterministic=True)
        )
        with durable.replacing(path) as file:
            file.write(content)
        logging.info("SavedModel written to: %s", path)
        return path.encode()

    def _add(
        self,
        saver: savers.Saver,
        tags: Iterable[str],
        signature_def_map: Mapping[str, Any] | None,
        *,
        clear_devices: bool,
        strip_default_attrs: bool,
    ) -> None:
        meta = self._saved_model.meta_graphs.add()
        meta.CopyFrom(
            saver.export_meta_graph(
                clear_devices=clear_devices, strip_default_attrs=strip_default_attrs
            )
        )
        meta.meta_info_def.tags.extend(tags)
        for name, signature in (signature_def_map or {}).items():
            meta.signature_def[name].CopyFrom(signature)


def simple_save(
    session: Any,
    export_dir: str,
    inputs: Mapping[str, Any],
    outputs: Mapping[str, Any],
    legacy_init_op: graphs.Operation | None = None,
) -> None:
    """Write the default graph and the variables of a session for TensorFlow Serving's Predict.

    `inputs` and `outputs` hold tensors by the names that clients use. The graph has the tag
    `serve`, and the signature is `serving_default`. The files of the collection ASSET_FILEPATHS are
    copied. `load` runs `legacy_init_op`. Blocks.

    Raises:
        AssertionError: the folder exists and is not empty.
        ValueError: `inputs` or `outputs` is empty.
    """
    signature = signatures.predict_signature_def(inputs, outputs)
    builder = SavedModelBuilder(export_dir)
    key = collections.GraphKeys.ASSET_FILEPATHS
    builder.add_meta_graph_and_variables(
        session,
        tags=[constants.SERVING],
        signature_def_map={constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY: signature},
        assets_collection=graphs.get_default_graph().get_collection(key),
        main_op=legacy_init_op,
        clear_devices=True,
    )
    builder.save()


def _sharded_saver() -> savers.Saver:
    return savers.Saver(sharded=True, allow_empty=True)


def _check_signatures(signature_def_map: Mapping[str, Any]) -> None:
    for signature in signature_def_map.values():
        for info in (*signature.inputs.values(), *signature.outputs.values()):
            _check_info(info)
    for key in (constants.INIT_OP_SIGNATURE_KEY, constants.TRAIN_OP_SIGNATURE_KEY):
        if key in signature_def_map:
            raise KeyError(f'SignatureDef map key "{key}" is reserved. Use a different key')


def _check_info(info: Any) -> None:
    if info.WhichOneof("encoding") == "composite_tensor":
        for component in info.composite_tensor.components:
            _check_info(component)
    elif info.WhichOneof("encoding") is None or not info.dtype:
        raise AssertionError(
            f"Invalid `tensor_info`: {info}. Each TensorInfo of a signature must have a name and a "
            "dtype: make it with tf.saved_model.utils.build_tensor_info"
        )


def _add_collections(
    asset_tensors: Sequence[graphs.Tensor] | None, main_op: Any, export_dir: str
) -> None:
    """Copy the assets, and add the collections of assets and of the main op to the graph."""
    assets.add(asset_tensors or (), export_dir)
    if main_op is None:
        return
    if not isinstance(main_op, graphs.Operation):
        raise TypeError(f"main_op needs to be an Operation: {main_op!r}")
    graph = graphs.get_default_graph()
    for key in (constants.MAIN_OP_KEY, constants.LEGACY_INIT_OP_KEY):
        if graph.get_collection(key):
            raise ValueError(
                f"Graph already contains one or more main ops under the collection {key}."
            )
    graph.add_to_collection(constants.MAIN_OP_KEY, main_op)
