"""The files of a SavedModel that is written graph by graph.

Source: tensorflow/python/saved_model/builder_impl.py.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from capstan.api import file_io, logging
from capstan.core import saved_model_messages
from capstan.resources import durable, file_names, files
from capstan.train import saver as savers
from capstan.train.saved_model import constants


class Writer:
    """The part of a builder that writes. The builders differ in the methods that add a graph.

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

    def _check_first(self, is_first: bool) -> None:
        """Raise AssertionError unless the variables are still to be written, or are written."""
        if is_first and self._has_variables:
            raise AssertionError(
                "Graph state including variables and assets has already been saved. Call "
                "`add_meta_graph()` for further graphs"
            )
        if not is_first and not self._has_variables:
            raise AssertionError(
                "Graph state including variables and assets has not been saved yet. Call "
                "`add_meta_graph_and_variables()` first"
            )

    def _write_variables(self, sess: Any, saver: savers.Saver) -> None:
        folder = file_names.joined(self._export_dir, constants.VARIABLES_DIRECTORY)
        files.of(folder).make_folders(folder)
        prefix = file_names.joined(folder, constants.VARIABLES_FILENAME)
        saver.save(sess, prefix, write_meta_graph=False, write_state=False)

    def _add(
        self,
        saver: savers.Saver,
        tags: Iterable[str],
        signature_def_map: Mapping[str, Any],
        *,
        clear_devices: bool,
        strip_default_attrs: bool,
        asset_file_defs: Iterable[Any] = (),
    ) -> None:
        """Add the default graph to the SavedModel."""
        exported = saver.export_meta_graph(
            clear_devices=clear_devices, strip_default_attrs=strip_default_attrs
        )
        meta = self._saved_model.meta_graphs.add()
        meta.CopyFrom(exported)
        meta.asset_file_def.extend(asset_file_defs)
        meta.meta_info_def.tags.extend(tags)
        for name, signature in signature_def_map.items():
            meta.signature_def[name].CopyFrom(signature)
        self._has_variables = True


def sharded_saver() -> savers.Saver:
    """Return the default saver of a SavedModel."""
    return savers.Saver(sharded=True, allow_empty=True)


def check_signatures(signature_def_map: Mapping[str, Any]) -> None:
    """Check the SignatureDefs that a program gives to a builder.

    Raises:
        AssertionError: a TensorInfo lacks its name or dtype.
        KeyError: a name is reserved.
    """
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
