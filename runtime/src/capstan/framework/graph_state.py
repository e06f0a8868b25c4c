"""The state of a graph besides its operations: collections, the seed, and whether it may change."""

import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Self

from capstan.core import function
from capstan.framework import collections, defaults, function_def, scopes


class GraphState(scopes.Scoped):
    """The part of `tf.Graph` that is not about operations.

    Thread-safe. Every thread has its own scopes. See `framework.scopes`.
    """

    def __init__(self) -> None:
        super().__init__()
        self._collections = collections.Collections()
        self._unfeedable: set[Any] = set()
        self._unfetchable: set[Any] = set()
        self._finalized = False
        self._seed: int | None = None
        self._functions: dict[str, function.Function] = {}
        self._python_gradients: dict[str, Callable[..., Any]] = {}
        self._kept: list[Any] = []
        self.traces: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        """What each `tf.function` has traced for this graph."""

    @property
    def seed(self) -> int | None:
        """The seed that all random operations of the graph depend on, or None."""
        return self._seed

    @seed.setter
    def seed(self, seed: int | None) -> None:
        self._seed = seed

    @property
    def finalized(self) -> bool:
        return self._finalized

    def finalize(self) -> None:
        """Make the graph read-only, for example before threads share it."""
        with self._lock:
            self._finalized = True

    def _unsafe_unfinalize(self) -> None:
        """Allow changes again. Unsafe while other threads use the graph (TensorFlow's name)."""
        with self._lock:
            self._finalized = False

    def _check_not_finalized(self) -> None:
        if self._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")

    def as_default(self) -> AbstractContextManager[Self]:
        """Make this the graph that new operations of the current thread are added to."""
        return defaults.GRAPHS.entered(self, "Graph")

    # --- collections

    @property
    def collections(self) -> list[Any]:
        return self.get_all_collection_keys()

    def add_to_collection(self, name: Any, value: Any) -> None:
        with self._lock:
            self._check_not_finalized()
            self._collections.add(name, value)

    def add_to_collections(self, names: Any, value: Any) -> None:
        """Add `value` once to each of the collections `names`. A string is one name."""
        for name in dict.fromkeys((names,) if isinstance(names, str) else names):
            self.add_to_collection(name, value)

    def get_collection_ref(self, name: Any) -> list[Any]:
        """Return the live list of a collection, which the caller may change."""
        with self._lock:
            return self._collections.reference(name)

    def get_collection(self, name: Any, scope: str | None = None) -> list[Any]:
        """Return a copy of a collection. With `scope`, keep only values whose name matches it."""
        with self._lock:
            return self._collections.copy(name, scope)

    def get_all_collection_keys(self) -> list[Any]:
        with self._lock:
            return self._collections.keys()

    def clear_collection(self, name: Any) -> None:
        with self._lock:
            self._check_not_finalized()
            self._collections.clear(name)

    # --- functions

    building_function = False
    """Whether the graph is the body of a function that is being built."""

    has_functional_control_flow = False
    """Whether conditionals and loops in the graph call functions, whatever the program chose."""

    def add_function(
        self, added: function.Function, python_gradient: Callable[..., Any] | None = None
    ) -> None:
        """Add a function, which operations of the graph may call.

        `python_gradient(op, *grads)` builds the gradients of a call. The same function may be added
        again.

        Raises:
            ValueError: the graph has another function of that name.
        """
        with self._lock:
            self._check_not_finalized()
            known = self._functions.setdefault(added.name, added)
            if known is not added and not function_def.are_equal(known, added):
                raise ValueError(
                    f"Cannot add function '{added.name}' because a different function with the "
                    "same name already exists."
                )
            if python_gradient is not None:
                self._python_gradients[added.name] = python_gradient

    def python_gradient(self, name: str) -> Callable[..., Any] | None:
        """Return the `python_gradient` of the function `name`, or None if it has none."""
        return self._python_gradients.get(name)

    def named_function(self, name: str) -> function.Function | None:
        """Return the function called `name`, or None if the graph has none."""
        return self._functions.get(name)

    def functions(self, since: int = 0) -> list[function.Function]:
        """Return all functions except the first `since`, in the order in which they were added."""
        with self._lock:
            return list(self._functions.values())[since:]

    def keep(self, needed: Any) -> None:
        """Keep `needed`, an object that operations need, alive as long as the graph."""
        with self._lock:
            self._kept.append(needed)

    # --- feeding and fetching

    def prevent_feeding(self, tensor: Any) -> None:
        """Forbid feeding a tensor: `Session.run` then raises ValueError."""
        self._unfeedable.add(tensor)

    def is_feedable(self, tensor: Any) -> bool:
        return tensor not in self._unfeedable

    def prevent_fetching(self, op: Any) -> None:
        """Forbid fetching an operation and its outputs: `Session.run` then raises ValueError."""
        self._unfetchable.add(op)

    def is_fetchable(self, tensor_or_op: Any) -> bool:
        op = getattr(tensor_or_op, "op", tensor_or_op)
        return tensor_or_op not in self._unfetchable and op not in self._unfetchable
