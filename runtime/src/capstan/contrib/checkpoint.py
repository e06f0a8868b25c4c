"""`tf.contrib.checkpoint`: the parts of checkpoints of objects, and a look at their messages.

Source: tensorflow/contrib/checkpoint/__init__.py.
"""

from typing import Any

from capstan.api import trackable
from capstan.api.absent import absent
from capstan.contrib import package_aliases
from capstan.train import checkpoint_reader, object_graph
from capstan.train.checkpoint_manager import CheckpointManager

__all__ = [
    "CheckpointManager", "Checkpointable", "List", "Mapping", "NoDependency", "list_objects",
    "object_metadata",
]  # fmt: skip

Checkpointable = trackable.Trackable
NoDependency = trackable.NoDependency


class List(list[Any]):
    """A list that a Checkpoint takes as an argument. Its members have their positions as names."""

    def __init__(self, *args: Any) -> None:
        super().__init__(args)

    @property
    def _checkpoint_dependencies(self) -> trackable.Dependencies:
        return trackable.dependencies(list(self))


class Mapping(dict[str, Any]):
    """A dictionary that a Checkpoint takes as an argument. Its members have their keys as names."""

    @property
    def _checkpoint_dependencies(self) -> trackable.Dependencies:
        return trackable.dependencies(dict(self))


def list_objects(root_checkpointable: Any) -> list[Any]:
    """Return all objects that a checkpoint of an object has, with the slots of optimizers."""
    return [node.value for node in object_graph.of(root_checkpointable).nodes]


def object_metadata(save_path: str) -> Any:
    """Return the objects of a checkpoint, as the message TrackableObjectGraph.

    Raises:
        ValueError: the checkpoint is of `tf.train.Saver`, and names no objects.
        NotFoundError: there is no such checkpoint.
    """
    reader = checkpoint_reader.NewCheckpointReader(save_path)
    if not reader.has_tensor(object_graph.KEY):
        raise ValueError(
            f'The specified checkpoint "{save_path}" does not appear to be object-based: it has no '
            f'value "{object_graph.KEY}". It was likely created by tf.train.Saver'
        )
    return object_graph.parsed(reader.get_tensor(object_graph.KEY))


package_aliases.grow(__name__)


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.checkpoint", name)


def __dir__() -> list[str]:
    return sorted(__all__)
