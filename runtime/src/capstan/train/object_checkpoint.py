"""`tf.train.Checkpoint` saves objects by the names of their attributes.

Source: tensorflow/python/training/tracking/util.py.
"""

from typing import Any

import numpy as np

from capstan.api import context, state_ops, trackable, variables
from capstan.core import dtypes
from capstan.framework import convert, grouping, saveable
from capstan.framework import graph as graphs
from capstan.resources import file_names
from capstan.train import (
    checkpoint_reader,
    checkpoint_state,
    object_graph,
    object_status,
)
from capstan.train import saver as savers


class TrackableSaver:
    """Saves and restores an object, and the objects that its attributes lead to. Not thread-safe.

    Operations are added to the graph once, and again only if the objects have changed.
    """

    def __init__(self, root: Any) -> None:
        self._root = root
        self._made: tuple[bytes, graphs.Graph, savers.Saver] | None = None
        self._restorer = object_status.Restorer()

    def save(self, file_prefix: str, session: Any) -> str:
        """Save the objects to the checkpoint `file_prefix`, and return its name. Blocks.

        The state file of the folder stays as it is.

        Raises:
            ValueError: the folder does not exist and cannot be made.
        """
        with session.graph.as_default():
            saver = self.saver(session.graph)
        path = saver.save(session, file_prefix, write_meta_graph=False, write_state=False)
        return str(path)

    def restore(self, save_path: str) -> Any:
        """Return a status whose methods restore the objects from a checkpoint.

        Raises:
            NotFoundError: there is no such checkpoint.
            DataLossError: the file is not a checkpoint.
        """
        reader = checkpoint_reader.NewCheckpointReader(save_path)
        if not reader.has_tensor(object_graph.KEY):
            return object_status.NameBasedSaverStatus(self._root, save_path, self._restorer)
        message = reader.get_tensor(object_graph.KEY)
        return object_status.CheckpointLoadStatus(self._root, save_path, message, self._restorer)

    def saver(self, graph: graphs.Graph) -> savers.Saver:
        """Return the saver of the present objects, whose operations are in the default graph."""
        objects = object_graph.of(self._root)
        serialized = objects.serialized()
        if self._made is None or self._made[:2] != (serialized, graph):
            members = {**objects.variables(), object_graph.KEY: _Message(serialized)}
            self._made = serialized, graph, savers.Saver(members, max_to_keep=0)
        return self._made[2]


class Checkpoint(trackable.Trackable):
    """A group of objects that are saved and restored together.

    Each keyword argument becomes an attribute. It is a variable, a layer or model, an optimizer of
    `tf.train`, or another Checkpoint. Objects can also be assigned to attributes later, and in
    lists and dictionaries. The format is TensorFlow's: the names of attributes lead to each value,
    so the names of variables and the order of their creation do not matter. Slots of optimizers
    belong to the variables that they serve. Not thread-safe.

    Raises:
        ValueError: an argument is not such an object.
    """

    _saver: Any
    _next_number: Any
    _is_counting: Any

    def __init__(self, **kwargs: Any) -> None:
        for name, value in sorted(kwargs.items()):
            if not trackable.is_trackable(value):
                raise ValueError(
                    "`Checkpoint` was expecting a trackable object (a variable, a layer, an "
                    f"optimizer or a Checkpoint) for {name}, got {value!r}. Assign lists and "
                    "dictionaries to attributes of the Checkpoint"
                )
            setattr(self, name, value)
        self._saver = trackable.NoDependency(TrackableSaver(self))

    @property
    def save_counter(self) -> Any:
        """The variable that counts the calls of `save`: an int64 scalar. It is saved, too."""
        self._make_save_counter()
        return self._counter()

    def write(self, file_prefix: str, session: Any = None) -> str:
        """Save the objects to the checkpoint `file_prefix`, and return its name. Blocks.

        Neither `save_counter` nor the state file of the folder changes. The first call, and a call
        after objects were added, adds operations to the graph of the session.

        Raises:
            ValueError: there is no session, or the folder does not exist and cannot be made.
        """
        session = object_status.session_of(session, self)
        path: str = self._saver.save(file_prefix, session)
        return path

    def save(self, file_prefix: str, session: Any = None) -> str:
        """Save the objects to the checkpoint `file_prefix-N`, and return its name. Blocks.

        N is the next value of `save_counter`. The state file of the folder then names this
        checkpoint, so `tf.train.latest_checkpoint` finds it.

        Raises:
            ValueError: there is no session, or the folder does not exist and cannot be made.
        """
        session = object_status.session_of(session, self)
        path = self.write(f"{file_prefix}-{self._count(session)}", session)
        checkpoint_state.update_checkpoint_state(
            file_names.folder_of(path), path, [path], save_relative_paths=True
        )
        return path

    def restore(self, save_path: str | None) -> Any:
        """Return a status whose methods restore the objects from a checkpoint.

        Call its `run_restore_ops` or `initialize_or_restore` when the graph is built. A checkpoint
        of `tf.train.Saver` is restored by the names of variables. If `save_path` is None, the
        status only initialises variables.

        Raises:
            NotFoundError: there is no such checkpoint.
        """
        if save_path is None:
            self._make_save_counter()
            return object_status.InitializationOnlyStatus(self)
        status = self._saver.restore(str(save_path))
        if isinstance(status, object_status.CheckpointLoadStatus):
            self._make_save_counter()
        return status

    def _count(self, session: Any) -> int:
        """Return the next value of `save_counter`, which is 1 if it has no value yet."""
        with session.graph.as_default():
            self._make_save_counter()
            if not session.run(self._is_counting):
                session.run(self._save_counter.initializer)
            return int(session.run(self._next_number))

    def _counter(self) -> Any:
        return vars(self).get("_save_counter")

    @property
    def _checkpoint_dependencies(self) -> trackable.Dependencies:
        """The attributes. The counter has the name of its public attribute."""
        return [
            ("save_counter" if name == "_save_counter" else name, value)
            for name, value in super()._checkpoint_dependencies
        ]

    def _make_save_counter(self) -> None:
        if self._counter() is None:
            # Made once, so that later saves leave the graph as it is.
            with context.device("/cpu:0"):
                self._save_counter = variables.Variable(
                    np.int64(0), trainable=False, name="save_counter", use_resource=True
                )
                next_number = state_ops.assign_add(self._save_counter, 1)
                self._next_number = trackable.NoDependency(next_number)
                is_counting = state_ops.is_variable_initialized(self._save_counter)
                self._is_counting = trackable.NoDependency(is_counting)


class _Message(saveable.SaveableObject):
    """The message about the objects, which is saved as a string."""

    def __init__(self, serialized: bytes) -> None:
        with context.device("/cpu:0"):
            tensor = convert.constant(serialized, dtypes.string)
        super().__init__(None, [saveable.SaveSpec(tensor, "", object_graph.KEY)], object_graph.KEY)

    def restore(self, restored_tensors: Any, restored_shapes: Any) -> Any:
        return grouping.no_op()
