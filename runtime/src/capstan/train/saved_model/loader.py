"""Reading of SavedModels (tensorflow/python/saved_model/loader_impl.py)."""

import os
from collections.abc import Iterable
from typing import Any

from capstan.api import file_io, logging, variable_collections
from capstan.core import saved_model_messages
from capstan.framework import graph as graphs
from capstan.resources import file_names, files
from capstan.train import import_graph
from capstan.train import saver as savers
from capstan.train.saved_model import assets, constants


def maybe_saved_model_directory(export_dir: str) -> bool:
    """Return whether a folder, which may be a URL, has the file of a SavedModel."""
    return _file_in(file_io.text(export_dir)) is not None


def get_variables_path(export_dir: str) -> str:
    """Return the name of the checkpoint in a SavedModel."""
    folder = file_names.joined(export_dir, constants.VARIABLES_DIRECTORY)
    return file_names.joined(folder, constants.VARIABLES_FILENAME)


def load(
    sess: Any,
    tags: Iterable[str],
    export_dir: str,
    import_scope: str | None = None,
    **saver_kwargs: Any,
) -> Any:
    """Add a graph of a SavedModel to the graph of a session, and return its MetaGraphDef. Blocks.

    The graph is the one with exactly these tags. `load` restores its variables and runs its main
    op. If `import_scope` is given, the names in the session's graph begin with it and a slash. The
    names in the MetaGraphDef do not. `saver_kwargs` go to `tf.train.import_meta_graph`.

    Raises:
        OSError: the folder has no SavedModel, or its file is damaged.
        RuntimeError: no graph has these tags, or the graph has several main ops.
    """
    return SavedModelLoader(export_dir).load(sess, tags, import_scope, **saver_kwargs)


class SavedModelLoader:
    """A SavedModel that has been read. The methods are the steps of `load`. Not thread-safe.

    Raises:
        OSError: the folder has no SavedModel, or its file is damaged.
    """

    def __init__(self, export_dir: str) -> None:
        self._export_dir = file_io.text(export_dir)
        self._saved_model = parse_saved_model(self._export_dir)

    @property
    def export_dir(self) -> str:
        return self._export_dir

    @property
    def variables_path(self) -> str:
        """The name of the checkpoint."""
        return get_variables_path(self._export_dir)

    @property
    def saved_model(self) -> Any:
        """The SavedModel message."""
        return self._saved_model

    def get_meta_graph_def_from_tags(self, tags: Iterable[str]) -> Any:
        """Return the MetaGraphDef with exactly these tags.

        Raises:
            RuntimeError: there is none.
        """
        wanted, known = set(tags), []
        for meta in self._saved_model.meta_graphs:
            if set(meta.meta_info_def.tags) == wanted:
                return meta
            known.append(sorted(meta.meta_info_def.tags))
        raise RuntimeError(
            f"MetaGraphDef associated with tags {sorted(wanted)} could not be found in SavedModel "
            f"{self._export_dir}, which has graphs with the tags {known}"
        )

    def load_graph(
        self,
        graph: graphs.Graph,
        tags: Iterable[str],
        import_scope: str | None = None,
        **saver_kwargs: Any,
    ) -> tuple[Any, list[Any] | None]:
        """Add the graph with `tags` to `graph`.

        Return its saver, or None without variables, and the operations and tensors that
        `return_elements` in `saver_kwargs` names, or None.
        """
        meta = self.get_meta_graph_def_from_tags(tags)
        return import_graph.import_meta_graph_with_return_elements(
            meta, import_scope=import_scope, graph=graph, **saver_kwargs
        )

    def restore_variables(self, sess: Any, saver: Any, import_scope: str | None = None) -> None:
        """Restore the variables, if there are any in `import_scope`. Blocks.

        Raises:
            ValueError: there are variables, but `saver` is not a Saver.
        """
        with sess.graph.as_default():
            if saver is None and not variable_collections.all_saveable_objects(import_scope):
                logging.info(
                    "The specified SavedModel has no variables; no checkpoints were restored."
                )
                return
            if not isinstance(saver, savers.Saver):
                raise ValueError(  # noqa: TRY004 - TensorFlow's error
                    f"SavedModelLoader.restore_variables: {saver!r} is not a tf.train.Saver, and "
                    "the graph has variables. Pass the saver that load_graph returns"
                )
            saver.restore(sess, self.variables_path)

    def run_init_ops(self, sess: Any, tags: Iterable[str], import_scope: str | None = None) -> None:
        """Run the main op of the graph with `tags`, if it has one. Feed the names of the assets."""
        meta = self.get_meta_graph_def_from_tags(tags)
        name = main_op_name(meta)
        if name is None:
            return
        scoped = f"{import_scope}/{name}" if import_scope else name
        feeds = assets.feeds(self._export_dir, meta, import_scope)
        sess.run([sess.graph.as_graph_element(scoped)], feeds)

    def load(
        self, sess: Any, tags: Iterable[str], import_scope: str | None = None, **saver_kwargs: Any
    ) -> Any:
        """Do what the function `load` does."""
        chosen = set(tags)
        saver, _ = self.load_graph(sess.graph, chosen, import_scope, **saver_kwargs)
        self.restore_variables(sess, saver, import_scope)
        self.run_init_ops(sess, chosen, import_scope)
        return self.get_meta_graph_def_from_tags(chosen)


def parse_saved_model(export_dir: str) -> Any:
    """Return the SavedModel message of a folder.

    Raises:
        OSError: the folder has no SavedModel, or its file is damaged.
    """
    from google.protobuf import message, text_format

    path = _file_in(export_dir)
    if path is None:
        names = f"{constants.SAVED_MODEL_FILENAME_PBTXT}|{constants.SAVED_MODEL_FILENAME_PB}"
        raise OSError(f"SavedModel file does not exist at: {export_dir}{os.path.sep}{{{names}}}")
    content, parsed = files.read_all(path), saved_model_messages.SavedModel()
    try:
        if path.endswith(constants.SAVED_MODEL_FILENAME_PBTXT):
            text_format.Parse(content.decode(), parsed)
        else:
            parsed.ParseFromString(content)
    except (UnicodeDecodeError, text_format.ParseError, message.DecodeError) as error:
        raise OSError(f"Cannot parse file {path}: {error}.") from error
    return parsed


def _file_in(export_dir: str) -> str | None:
    for name in (constants.SAVED_MODEL_FILENAME_PB, constants.SAVED_MODEL_FILENAME_PBTXT):
        path = file_names.joined(export_dir, name)
        if files.of(path).exists(path):
            return path
    return None


def main_op_name(meta: Any) -> str | None:
    """Return the name of the operation that `load` runs, without the scope of the import."""
    key = constants.INIT_OP_SIGNATURE_KEY
    if key in meta.signature_def:
        name: str = meta.signature_def[key].outputs[key].name
        return name
    for key in (constants.MAIN_OP_KEY, constants.LEGACY_INIT_OP_KEY):
        names = list(meta.collection_def[key].node_list.value) if key in meta.collection_def else []
        if len(names) > 1:
            raise RuntimeError(f"Expected exactly one SavedModel main op. Found: {names}")
        if names:
            return str(names[0])
    return None
