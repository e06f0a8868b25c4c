"""The objects that a checkpoint of objects reaches, by the names of their attributes.

An object takes part if it is a variable, or if its class has the property
`_checkpoint_dependencies`: pairs of a name and an object. Lists and dictionaries in attributes take
part too. Source: tensorflow/python/training/tracking/{base,tracking,data_structures}.py.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from capstan.api import variables

Dependencies = list[tuple[str, Any]]
"""Objects with their names in the object that has them."""


class Trackable:
    """An object whose attributes take part in checkpoints: `tf.contrib.checkpoint.Checkpointable`.

    An attribute with NoDependency as its value becomes that value, and takes no part.
    """

    _hidden: frozenset[str] = frozenset()

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, NoDependency):
            self.__dict__["_hidden"] = self._hidden | {name}
            value = value.value
        elif name in self._hidden:
            self.__dict__["_hidden"] = self._hidden - {name}
        super().__setattr__(name, value)

    @property
    def _checkpoint_dependencies(self) -> Dependencies:
        return in_attributes(self, self._hidden)


class NoDependency:
    """A value that a Trackable shall not save with an attribute."""

    def __init__(self, value: Any) -> None:
        self.value = value


def is_trackable(value: Any) -> bool:
    """Return whether an object takes part in checkpoints by itself."""
    return isinstance(value, variables.Variable) or hasattr(type(value), "_checkpoint_dependencies")


def dependencies(value: Any) -> Dependencies:
    """Return the objects that an object, a list or a dictionary has, with their names."""
    if isinstance(value, Mapping):
        return _members((str(name), each) for name, each in value.items())
    if isinstance(value, list):
        return _members((str(number), each) for number, each in enumerate(value))
    found: Dependencies = getattr(value, "_checkpoint_dependencies", [])
    return found


def in_attributes(owner: Any, hidden: Collection[str]) -> Dependencies:
    """Return the objects in the attributes of `owner`, without the attributes `hidden`."""
    return _members((name, each) for name, each in vars(owner).items() if name not in hidden)


def _members(named: Iterable[tuple[str, Any]]) -> Dependencies:
    return [(name, each) for name, each in named if _takes_part(each)]


def _takes_part(value: Any) -> bool:
    if isinstance(value, Mapping | list):
        return bool(dependencies(value))
    return is_trackable(value)
