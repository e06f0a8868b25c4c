"""`tf.make_template`: functions whose calls share variables (python/ops/template.py)."""

import functools
import logging
from collections.abc import Callable
from typing import Any

from capstan.api import open_scopes, scope_block, variable_scope
from capstan.framework import collections as keys
from capstan.framework import graph as graphs

__all__ = ["make_template"]


def make_template(
    name_: str,
    func_: Callable[..., Any],
    create_scope_now_: bool = False,
    unique_name_: str | None = None,
    custom_getter_: variable_scope.Getter | None = None,
    **kwargs: Any,
) -> "Template":
    """Return a function like `func_` whose calls share the variables of the first call.

    `func_` creates variables by `get_variable`, in a variable scope with the name `name_`, which
    gets a number if the name is in use. The scope is created by the first call, or at once if
    `create_scope_now_`. `unique_name_` is a name of the scope that gets no number. `kwargs` are
    arguments for each call.

    Raises:
        ValueError: `name_` is None.
    """
    if kwargs:
        func_ = functools.partial(func_, **kwargs)
    return Template(name_, func_, create_scope_now_, unique_name_, custom_getter_)


class Template:
    """A function whose calls share variables. Not thread-safe."""

    def __init__(
        self,
        name: str,
        func: Callable[..., Any],
        create_scope_now: bool = False,
        unique_name: str | None = None,
        custom_getter: variable_scope.Getter | None = None,
    ) -> None:
        if name is None:
            raise ValueError("name cannot be None.")
        self.func = func
        self._name = name
        self._unique_name = unique_name
        self._custom_getter = custom_getter
        self._has_variables = False
        self._scope: variable_scope.VariableScope | None = None
        if create_scope_now:
            outer = variable_scope.get_variable_scope()
            free = open_scopes.of(graphs.get_default_graph()).unused(outer.name, name)
            # The first call gets the name scope of this name, so none is opened here.
            with scope_block.pure_variable_scope(
                unique_name or free, custom_getter=custom_getter
            ) as self._scope:
                pass

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function.

        Raises:
            ValueError: a call after the first one creates a trainable variable.
        """
        if self._scope is None:
            with self._new_scope() as self._scope:
                return self._call(args, kwargs)
        with scope_block.variable_scope(self._scope, reuse=self._has_variables or None):
            return self._call(args, kwargs)

    @property
    def name(self) -> str:
        return self._name

    @property
    def variable_scope(self) -> variable_scope.VariableScope | None:
        """The scope of the variables, or None before it is created."""
        return self._scope

    var_scope = variable_scope

    @property
    def variable_scope_name(self) -> str | None:
        """The beginning of the names of the variables, or None before their scope is created. It
        ends with a slash.
        """
        if self._scope is None:
            return None
        name: str = self._scope.name
        return name if not name or name.endswith("/") else f"{name}/"

    @property
    def variables(self) -> list[Any]:
        """The global and the local variables of the scope."""
        return self.global_variables + self.local_variables

    @property
    def trainable_variables(self) -> list[Any]:
        return self._collection(keys.GraphKeys.TRAINABLE_VARIABLES)

    @property
    def non_trainable_variables(self) -> list[Any]:
        """The global variables of the scope that no optimizer changes."""
        trainable = self.trainable_variables
        return [each for each in self.global_variables if each not in trainable]

    @property
    def global_variables(self) -> list[Any]:
        return self._collection(keys.GraphKeys.GLOBAL_VARIABLES)

    @property
    def local_variables(self) -> list[Any]:
        return self._collection(keys.GraphKeys.LOCAL_VARIABLES)

    weights = variables
    trainable_weights = trainable_variables
    non_trainable_weights = non_trainable_variables

    def _new_scope(self) -> Any:
        return scope_block.variable_scope(
            self._unique_name, self._name, custom_getter=self._custom_getter
        )

    def _call(self, args: Any, kwargs: Any) -> Any:
        graph = graphs.get_default_graph()
        if not self._has_variables:
            result = self.func(*args, **kwargs)
            self._has_variables = True
            return result
        trainable = graph.get_collection_ref(keys.GraphKeys.TRAINABLE_VARIABLES)
        every = graph.get_collection_ref(keys.GraphKeys.GLOBAL_VARIABLES)
        before, all_before = len(trainable), len(every)
        result = self.func(*args, **kwargs)
        hint = (
            "when calling a template after the first time, perhaps you used tf.Variable when you "
            "meant tf.get_variable: "
        )
        if len(trainable) > before:
            raise ValueError(f"Trainable variable created {hint}{trainable[before:]}")
        if len(every) > all_before:
            logging.getLogger("capstan").info(
                "New variables created %s%s", hint, every[all_before:]
            )
        return result

    def _collection(self, key: str) -> list[Any]:
        """Return the variables of a collection that are in the scope."""
        name = self.variable_scope_name
        if name is None:
            return []
        graph = graphs.get_default_graph()
        return graph.get_collection(key, name or None)
