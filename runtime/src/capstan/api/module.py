"""`tf.Module`: a named object that finds the variables in its attributes (python/module/module.py).

class Dense(tf.Module):
    def __init__(self, inputs, outputs, name=None):
        super().__init__(name=name)
        with self.name_scope:
            self.w = tf.Variable(tf.random_normal([inputs, outputs]), name="w")

    @tf.Module.with_name_scope
    def __call__(self, x):
        return tf.matmul(x, self.w)
"""

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from capstan.api import context, nest, trackable, variables

_WORDS = re.compile(r"((?<=[a-z0-9])[A-Z]|(?!^)[A-Z](?=[a-z]))")
"""A capital letter that begins a word."""


class Module(trackable.Trackable):
    """A container for variables, other modules, and functions of these.

    Attributes may hold variables and modules also in lists, tuples and dictionaries. A module takes
    part in checkpoints of `tf.train.Checkpoint`.
    """

    _TF_MODULE_IGNORED_PROPERTIES = frozenset({"_hidden"})
    """The attributes in which the module finds nothing."""

    def __init__(self, name: str | None = None) -> None:
        """Name the module, by default after its class in lower case with underscores.

        Raises:
            ValueError: `name` is not an identifier of Python.
        """
        if name is None:
            name = _WORDS.sub(r"_\1", type(self).__name__).lower()
        elif not (name.isidentifier() and name.isascii()):
            raise ValueError(
                f"{name!r} is not a valid module name. Module names must be valid Python "
                "identifiers (e.g. a valid class name)."
            )
        self._name = name
        with context.name_scope(name) as scope_name:
            self._scope_name = scope_name

    @property
    def name(self) -> str:
        """The name that was given, without the scopes around it."""
        return self._name

    @property
    def name_scope(self) -> Any:
        """A context manager that enters the name scope of the module again."""
        return context.name_scope(self._scope_name)

    @property
    def variables(self) -> Sequence[Any]:
        """The variables in the attributes, by their names, and then those of the submodules."""
        return tuple(self._flatten(predicate=_is_variable))

    @property
    def trainable_variables(self) -> Sequence[Any]:
        """Those of `variables` that are trainable."""
        return tuple(self._flatten(predicate=lambda each: _is_variable(each) and each.trainable))

    @property
    def submodules(self) -> tuple["Module", ...]:
        """The modules in the attributes, and their submodules."""
        return tuple(self._flatten(predicate=lambda each: isinstance(each, Module)))

    def _flatten(
        self,
        recursive: bool = True,
        predicate: Callable[[Any], bool] | None = None,
        attribute_traversal_key: Callable[[str], Any] | None = None,
        with_path: bool = False,
    ) -> Iterator[Any]:
        """Give the values in the attributes for which `predicate` is true, each once.

        The attributes are in the order of `attribute_traversal_key(name)`. Those of submodules
        follow if `recursive`. With `with_path`, an item is a path and a value, and a value is given
        for each of its paths.
        """
        seen = {id(self)}
        waiting: list[tuple[tuple[Any, ...], Module]] = [((), self)]
        # TensorFlow gives all values of a submodule before those of the next.
        while waiting:
            start, module = waiting.pop(0)
            below = []
            for path, leaf in module._leaves(attribute_traversal_key):
                if not with_path:
                    if id(leaf) in seen:
                        continue
                    seen.add(id(leaf))
                if predicate is None or predicate(leaf):
                    yield ((*start, *path), leaf) if with_path else leaf
                if recursive and isinstance(leaf, Module):
                    below.append(((*start, *path), leaf))
            waiting[:0] = below

    def _leaves(self, key: Callable[[str], Any] | None) -> Iterator[tuple[tuple[Any, ...], Any]]:
        for name in sorted(vars(self), key=key):
            if name not in self._TF_MODULE_IGNORED_PROPERTIES:
                for path, leaf in _with_paths(vars(self)[name]):
                    yield (name, *path), leaf

    @classmethod
    def with_name_scope(cls, method: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate a method: it runs in the name scope of its module."""

        @functools.wraps(method)
        def scoped(self: "Module", *args: Any, **kwargs: Any) -> Any:
            with self.name_scope:
                return method(self, *args, **kwargs)

        return scoped


def _is_variable(value: Any) -> bool:
    return isinstance(value, variables.Variable)


def _with_paths(value: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Give the leaves of lists, tuples and dictionaries with their indices and keys."""
    if not nest.is_nested(value):
        yield (), value
        return
    if isinstance(value, dict):
        items: Any = sorted(value.items())
    elif hasattr(value, "_fields"):
        items = zip(value._fields, value, strict=True)
    else:
        items = enumerate(value)
    for key, inner in items:
        for path, leaf in _with_paths(inner):
            yield (key, *path), leaf
