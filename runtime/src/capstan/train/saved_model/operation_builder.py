"""The builder of SavedModels whose signatures name operations to run, as those of Keras do.

Source: `_SavedModelBuilder` in tensorflow/python/saved_model/builder_impl.py.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from capstan.framework import graph as graphs
from capstan.train import saver as savers
from capstan.train.saved_model import assets, constants, signatures, writer


class OperationBuilder(writer.Writer):
    """Writes a SavedModel whose graphs need no collections for assets and operations.

    The constructor, the order of the calls and `save` are those of `SavedModelBuilder`.
    """

    def add_meta_graph_and_variables(
        self,
        sess: Any,
        tags: Iterable[str],
        signature_def_map: Mapping[str, Any] | None = None,
        assets_list: Sequence[graphs.Tensor] | None = None,
        clear_devices: bool = False,
        init_op: Any = None,
        train_op: Any = None,
        strip_default_attrs: bool = False,
        saver: savers.Saver | None = None,
    ) -> None:
        """Add the default graph under `tags`, and write the variables of a session. Blocks.

        `load` runs `init_op` after it has restored the variables. A program that trains the loaded
        graph runs `train_op`. The other arguments and the errors are those of `SavedModelBuilder`,
        with `assets_list` for `assets_collection`.
        """
        self._check_first(True)
        named = _with_operations(signature_def_map, init_op, train_op)
        copies = assets.copied(assets_list or (), self._export_dir)
        saver = saver or writer.sharded_saver()
        self._write_variables(sess, saver)
        self._add(
            saver,
            tags,
            named,
            clear_devices=clear_devices,
            strip_default_attrs=strip_default_attrs,
            asset_file_defs=copies,
        )

    def add_meta_graph(
        self,
        tags: Iterable[str],
        signature_def_map: Mapping[str, Any] | None = None,
        assets_list: Sequence[graphs.Tensor] | None = None,
        clear_devices: bool = False,
        init_op: Any = None,
        train_op: Any = None,
        saver: savers.Saver | None = None,
    ) -> None:
        """Add the default graph under `tags`. It uses the variables that are written already.

        Attributes with their default values are left out. The arguments and errors are those of
        `add_meta_graph_and_variables`.
        """
        self._check_first(False)
        self._add(
            saver or writer.sharded_saver(),
            tags,
            _with_operations(signature_def_map, init_op, train_op),
            clear_devices=clear_devices,
            strip_default_attrs=True,
            asset_file_defs=assets.copied(assets_list or (), self._export_dir),
        )


def _with_operations(
    signature_def_map: Mapping[str, Any] | None, init_op: Any, train_op: Any
) -> dict[str, Any]:
    """Return the checked SignatureDefs, and one for each operation that is given."""
    named = dict(signature_def_map or {})
    writer.check_signatures(named)
    for key, operation in (
        (constants.INIT_OP_SIGNATURE_KEY, init_op),
        (constants.TRAIN_OP_SIGNATURE_KEY, train_op),
    ):
        if operation is not None:
            named[key] = signatures.op_signature_def(operation, key)
    return named
