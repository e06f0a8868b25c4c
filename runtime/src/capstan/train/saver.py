"""`tf.train.Saver` writes variables to TensorFlow's checkpoints and restores them.

Source: tensorflow/python/training/saver.py.
"""

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from capstan import errors
from capstan.api import logging
from capstan.framework import collections
from capstan.framework import graph as graphs
from capstan.resources import file_names
from capstan.train import (
    checkpoint_fence,
    checkpoint_names,
    checkpoint_state,
    meta_graph,
    object_names,
    retention,
    saver_builder,
)
from capstan.train import saver_def as saver_defs


class Saver:
    """Saves and restores variables, and keeps the newest checkpoints.

    `var_list` is a sequence of variables and saveable objects, or a dictionary from names in the
    checkpoint to such objects. The default is all global variables, and the saveable objects of the
    collection SAVEABLE_OBJECTS. The constructor adds the saver's operations to the default graph.
    With `defer_build`, the first call of `build` adds them instead. With `sharded`, each task
    writes the variables that it holds, so the tasks need a shared file system. Without `sharded`,
    one task, which the placer chooses, writes all variables. `builder` adds the operations, by
    default a BulkSaverBuilder, which ignores `restore_sequentially`. With `saver_def`, the saver
    uses the operations that an earlier saver has added to the graph.

    The saver keeps the newest `max_to_keep` checkpoints, or all checkpoints if `max_to_keep` is 0
    or None. It never deletes one checkpoint in every `keep_checkpoint_every_n_hours`. Threads may
    call `save` at the same time. No other method is thread-safe.

    Raises:
        ValueError: there are no variables and `allow_empty` is false, two variables have the same
            name, `write_version` is neither V1 nor V2, or `saver_def` names no operations.
        TypeError: a member of `var_list` is neither a variable nor a saveable object.
    """

    def __init__(
        self,
        var_list: Any = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: Any = None,
        builder: saver_builder.BaseSaverBuilder | None = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: int = saver_builder.V2,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | None = None,
    ) -> None:
        if defer_build and var_list:
            raise ValueError(
                "If `var_list` is provided then build cannot be deferred. Either set "
                "defer_build=False or var_list=None."
            )
        self._var_list = var_list
        self._reshape = reshape
        self._sharded = sharded
        self._name = name
        self._sequential = restore_sequentially
        self._builder = builder
        self._allow_empty = allow_empty
        self._write_version = write_version
        self._pad_step_number = pad_step_number
        self._relative = save_relative_paths
        self._filename = filename
        self._meta: tuple[Any, Any] | None = None
        self._is_built = False
        self._fence: checkpoint_fence.CheckpointFence | None = None
        self._saving = threading.Lock()
        self._of_objects: tuple[Mapping[str, str], Any] | None = None
        self.saver_def = saver_def
        if saver_def is not None:
            max_to_keep = saver_def.max_to_keep
            keep_checkpoint_every_n_hours = saver_def.keep_checkpoint_every_n_hours
            self._write_version = saver_def.version
        self._retention = retention.Retention(
            max_to_keep or 0, keep_checkpoint_every_n_hours, started=time.time()
        )
        if not defer_build:
            self.build()

    def build(self) -> None:
        """Add the saver's operations to the default graph, unless the saver is already built."""
        if self._is_built:
            return
        if self.saver_def is not None:
            saver_defs.check(self.saver_def)
        else:
            self.saver_def = self._add_operations()
        self._is_built = True

    def _add_operations(self) -> Any:
        """Add the saver's operations, and return the SaverDef. Return None for an empty saver."""
        var_list = self._members()
        if not var_list:
            if self._allow_empty:
                return None
            raise ValueError("No variables to save")
        builder = self._builder or saver_builder.BulkSaverBuilder(self._write_version)
        definition = builder.build(
            var_list,
            reshape=self._reshape,
            sharded=self._sharded,
            max_to_keep=self._retention.max_to_keep,
            keep_checkpoint_every_n_hours=self._retention.every_n_hours,
            name=self._name,
            restore_sequentially=self._sequential,
            filename=self._filename,
        )
        saver_defs.check(definition)
        return definition

    def _members(self) -> Any:
        """Return the variables and saveables of `var_list`, or those of the default graph."""
        if self._var_list is not None:
            return self._var_list
        keys = collections.GraphKeys.GLOBAL_VARIABLES, collections.GraphKeys.SAVEABLE_OBJECTS
        graph = graphs.get_default_graph()
        return [member for key in keys for member in graph.get_collection(key)]

    @property
    def last_checkpoints(self) -> list[str]:
        """The paths of the kept checkpoints, oldest first."""
        return self._retention.paths

    def set_last_checkpoints_with_time(
        self, last_checkpoints_with_time: Sequence[retention.Kept]
    ) -> None:
        """Replace the list of kept checkpoints: pairs of path and time in seconds since 1970."""
        self._retention.recover(last_checkpoints_with_time)

    def set_last_checkpoints(self, last_checkpoints: Sequence[str]) -> None:
        """Replace the list of kept checkpoints, as if they were written in the far future."""
        self._retention.recover((path, float("inf")) for path in last_checkpoints)

    def recover_last_checkpoints(self, checkpoint_paths: Sequence[str]) -> None:
        """Replace the list of kept checkpoints by the `checkpoint_paths` that still exist.

        An earlier run kept the checkpoints at these paths, oldest first.
        """
        existing = [path for path in checkpoint_paths if checkpoint_state.checkpoint_exists(path)]
        times = checkpoint_state.get_checkpoint_mtimes(existing)
        self._retention.recover(zip(existing, times, strict=True))

    def save(
        self,
        sess: Any,
        save_path: str,
        global_step: Any = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
    ) -> str | None:
        """Write a checkpoint and return its name. Blocks.

        `save_path` is a path, or a URL such as `s3://bucket/model` for a store that `fsspec` can
        reach. The files of the tensors are written first, then the index of the checkpoint, then
        the state file. A reader therefore never sees a part of a checkpoint.

        The name is `save_path`, followed by `-<global_step>` if `global_step` (a number or a
        tensor) is given. With `write_state`, this method then adds the checkpoint to the state
        file of the folder (`checkpoint`, or `latest_filename`) and deletes checkpoints beyond
        `max_to_keep`. With `write_meta_graph`, it also writes the graph to a file beside the
        checkpoint whose name ends with `meta_graph_suffix`. It returns None if there is nothing to
        save.

        Calls of several threads save one after another, so the state file names the checkpoint of
        the last call.

        Raises:
            ValueError: the folder does not exist and cannot be made, `latest_filename` is a path,
                or `save_path` has the name of the state file.
            TypeError: `sess` is not a session.
            RuntimeError: the saver has not been built.
            FailedPreconditionError: `claim` was called, and another process claimed the folder
                since.
            OpError: the step that saves failed.
        """
        self._check_built()
        if not hasattr(sess, "run"):
            raise TypeError(f"'sess' must be a Session; {sess}")
        with self._saving:
            self._check_fence()
            path = checkpoint_names.named(
                sess,
                str(save_path),
                global_step,
                latest_filename,
                is_sharded=self._sharded,
                is_padded=self._pad_step_number,
            )
            definition = self.saver_def
            written = None if definition is None else saver_defs.save(sess, definition, path)
            self._check_fence()
            if written is not None and write_state:
                folder = file_names.folder_of(path)
                self._record(written, folder, latest_filename, meta_graph_suffix)
            if write_meta_graph:
                name = checkpoint_state.meta_graph_filename(written or path, meta_graph_suffix)
                meta_graph.write(name, self._meta_graph(sess.graph, strip_default_attrs))
        return written

    def claim(self, folder: str) -> None:
        """Claim a folder of checkpoints for this process. Blocks.

        A process that ran as the same task before, for example on a node that was lost, can then
        save nothing with a saver that has claimed this folder. The first call claims. Later calls,
        which recover a session, only check the claim. Without a launcher of a job nothing is
        claimed, because no other process replaces this one.

        Raises:
            FailedPreconditionError: another process claimed the folder since the first call.
            OpError: the claim cannot be written.
        """
        if self._fence is None:
            self._fence = checkpoint_fence.CheckpointFence.of_process(folder)
        self._check_fence()

    def as_saver_def(self) -> Any:
        """Return the SaverDef, which holds the saver's options and the names of its operations.

        Return None if the saver is empty or has not been built.
        """
        return self.saver_def

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Return the SaverDef, without `export_scope` before the names.

        Return None if the operations are not in `export_scope`, or if there are none.
        """
        definition = self.saver_def
        return None if definition is None else saver_defs.exported(definition, export_scope)

    @staticmethod
    def from_proto(saver_def: Any, import_scope: str | None = None) -> "Saver":
        """Return a saver for the operations of the graph that a SaverDef names.

        If `import_scope` is given, the names of the operations begin with it and a slash.
        """
        return Saver(saver_def=saver_defs.imported(saver_def, import_scope), name=import_scope)

    def export_meta_graph(
        self,
        filename: str | None = None,
        collection_list: Iterable[str] | None = None,
        as_text: bool = False,
        export_scope: str | None = None,
        clear_devices: bool = False,
        clear_extraneous_savers: bool = False,
        strip_default_attrs: bool = False,
    ) -> Any:
        """Return the default graph and this saver as a MetaGraphDef.

        If `filename` is given, write the MetaGraphDef to that file too.
        `tf.train.export_meta_graph` describes the other arguments.
        """
        return meta_graph.export_meta_graph(
            filename,
            saver_def=self.saver_def,
            collection_list=collection_list,
            as_text=as_text,
            clear_devices=clear_devices,
            strip_default_attrs=strip_default_attrs,
            export_scope=export_scope,
            clear_extraneous_savers=clear_extraneous_savers,
        )

    _add_collection_def = staticmethod(meta_graph.add_collection_def)

    def _meta_graph(self, graph: graphs.Graph, strip_default_attrs: bool) -> Any:
        """Return the graph as a MetaGraphDef. The result is kept until the graph grows."""
        key = graph.version, strip_default_attrs
        if self._meta is None or self._meta[0] != key:
            meta = meta_graph.export_meta_graph(
                graph=graph, saver_def=self.saver_def, strip_default_attrs=strip_default_attrs
            )
            self._meta = key, meta
        return self._meta[1]

    def restore(self, sess: Any, save_path: str | None) -> None:
        """Assign the values of a checkpoint to the variables, initialised or not. Blocks.

        A checkpoint of objects (`tf.train.Checkpoint`) is restored by the names that its variables
        had. The first such call adds operations to the graph.

        Raises:
            ValueError: `save_path` is None or names no checkpoint.
            NotFoundError: a variable is not in the checkpoint.
            InvalidArgumentError: a variable has another dtype or shape in the checkpoint.
            RuntimeError: the saver has not been built.
        """
        self._check_built()
        definition = self.saver_def
        if definition is None:
            return
        if save_path is None:
            raise ValueError(
                "Can't load save_path when it is None. tf.train.latest_checkpoint returns None if "
                "a folder has no checkpoint"
            )
        path = str(save_path)
        if not checkpoint_state.checkpoint_exists(path):
            raise ValueError(f"The passed save_path is not a valid checkpoint: {path}")
        logging.info("Restoring parameters from %s", path)
        try:
            saver_defs.restore(sess, definition, path)
        except errors.NotFoundError:
            known = object_names.keys(path)
            if not known:
                raise
            logging.warning(
                "Restoring a checkpoint of objects by the names of variables adds operations to "
                "the graph. tf.train.Checkpoint restores it by the names of attributes."
            )
            saver_defs.restore(sess, self._definition_for(known, sess.graph), path)

    def _definition_for(self, known: Mapping[str, str], graph: graphs.Graph) -> Any:
        """Return the SaverDef for checkpoints of objects with the values `known`, by name."""
        if self._of_objects is None or self._of_objects[0] != known:
            with graph.as_default():
                members = object_names.chosen(self._members(), known)
                self._of_objects = known, saver_builder.BulkSaverBuilder().build(members)
        return self._of_objects[1]

    def _check_fence(self) -> None:
        if self._fence is not None:
            self._fence.check()

    def _check_built(self) -> None:
        if not self._is_built:
            raise RuntimeError("`build()` should be called before save if defer_build==True")

    def _record(
        self, path: str, folder: str, latest_filename: str | None, meta_graph_suffix: str
    ) -> None:
        self._retention.record(path, time.time())
        checkpoint_state.update_checkpoint_state(
            folder,
            path,
            self.last_checkpoints,
            latest_filename,
            save_relative_paths=self._relative,
        )
        # Delete old checkpoints last: the state file names one of them until it is updated.
        for old in self._retention.take_doomed():
            checkpoint_state.remove_checkpoint(old, self._write_version, meta_graph_suffix)
