"""Writing of SavedModels.

Sources: tensorflow/python/saved_model/{builder_impl,simple_save}.py.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from capstan.framework import collections
from capstan.framework import graph as graphs
from capstan.train import saver as savers
from capstan.train.saved_model import assets, constants, signatures, writer


class SavedModelBuilder(writer.Writer):
    """Writes a SavedModel to the folder `export_dir`, which may be a URL.

    The first graph comes with the variables, and all other graphs use the same variables. `save`
    writes the graphs. Until then, the folder is not a SavedModel. Not thread-safe.

    Raises:
        AssertionError: the folder exists and is not empty.
    """

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
        self._check_first(True)
        writer.check_signatures(signature_def_map or {})
        main_op = legacy_init_op if main_op is None else main_op
        _add_collections(assets_collection, main_op, self._export_dir)
        saver = saver or writer.sharded_saver()
        self._write_variables(sess, saver)
        self._add(
            saver,
            tags,
            signature_def_map or {},
            clear_devices=clear_devices,
            strip_default_attrs=strip_default_attrs,
        )

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
        self._check_first(False)
        writer.check_signatures(signature_def_map or {})
        main_op = legacy_init_op if main_op is None else main_op
        _add_collections(assets_collection, main_op, self._export_dir)
        self._add(
            saver or writer.sharded_saver(),
            tags,
            signature_def_map or {},
            clear_devices=clear_devices,
            strip_default_attrs=strip_default_attrs,
        )


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


def _add_collections(
    asset_tensors: Sequence[graphs.Tensor] | None, main_op: Any, export_dir: str
) -> None:
    """Copy the assets, and add the collections of assets and of the main op to the graph."""
    assets.collect(assets.copied(asset_tensors or (), export_dir))
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
