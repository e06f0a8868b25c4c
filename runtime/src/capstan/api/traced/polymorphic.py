"""`tf.function` and `defun`: Python functions that are traced once for each kind of arguments
(python/eager/def_function.py and function.py).

The traces of a function belong to the graph around all bodies. They end with the graph.
"""

import functools
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from capstan.api import distribution_modes
from capstan.api.autograph.operators import Operators
from capstan.api.traced import body as bodies
from capstan.api.traced import concrete, leaves, signature
from capstan.framework import body_graph, defaults
from capstan.framework import graph as graphs


@dataclass(slots=True)
class _Traces:
    """The traces of one function in one graph."""

    by_key: dict[Any, concrete.ConcreteFunction] = field(default_factory=dict)
    missed: set[Any] = field(default_factory=set)
    made_variables: list[Any] = field(default_factory=list)
    is_traced: bool = False


class Function:
    """A Python function that a call traces, unless it has a trace for such arguments."""

    def __init__(
        self,
        python_function: Callable[..., Any],
        name: str | None = None,
        input_signature: Any = None,
        autograph: bool = True,
        experimental_autograph_options: Any = None,
        experimental_relax_shapes: bool = False,
        attributes: dict[str, Any] | None = None,
        makes_variables_once: bool = True,
    ) -> None:
        self._python_function = python_function
        self._spec = signature.FunctionSpec(python_function, input_signature)
        self._name = name or _name_of(python_function)
        self._autograph = autograph
        self._autograph_options = experimental_autograph_options
        self._relaxes = experimental_relax_shapes
        self._attributes = attributes
        self._makes_once = makes_variables_once
        self._lock = threading.RLock()
        self._bound: weakref.WeakKeyDictionary[Any, Function] = weakref.WeakKeyDictionary()
        functools.update_wrapper(self, python_function, updated=())

    @property
    def python_function(self) -> Callable[..., Any]:
        """The Python function itself."""
        return self._python_function

    @property
    def input_signature(self) -> Any:
        return self._spec.input_signature

    @property
    def function_spec(self) -> signature.FunctionSpec:
        """The parameters of the Python function."""
        return self._spec

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Return the function of one object: a method of its class."""
        if instance is None:
            return self
        with self._lock:
            found = self._bound.get(instance)
            if found is None:
                found = self._bound[instance] = self._of(instance)
        return _Method(found, instance)

    def _of(self, instance: Any) -> "Function":
        return Function(
            _WeakMethod(self._python_function, instance),
            self._name,
            self._spec.input_signature,
            self._autograph,
            self._autograph_options,
            self._relaxes,
            self._attributes,
            self._makes_once,
        )

    def _decorate(self, decorator: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        """Decorate the Python function. `tf.Module` opens its name scope in this way."""
        self._python_function = decorator(self._python_function)
        self._spec = signature.FunctionSpec(self._python_function, self._spec.input_signature)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Add a call to the default graph, and return its results.

        If the function returns nothing, return the operation of the call.

        Raises:
            TypeError: the function does not take the arguments, an argument is not hashable, or
                the function returns a value that is not a tensor.
            ValueError: the function makes variables, but not in its first call, or the arguments
                do not fit the `input_signature`.
        """
        if defaults.BEHAVIOUR.calls_python_functions:
            return self._python_function(*args, **kwargs)
        arguments = self._spec.bound(args, kwargs)
        found = self._concrete(arguments)
        return found.called(list(leaves.tensors(list(arguments))))

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> concrete.ConcreteFunction:
        """Return the trace for arguments. A `tf.TensorSpec` stands for a tensor.

        With an `input_signature`, no arguments are needed.

        Raises:
            as a call.
        """
        if self._spec.input_signature is not None and not args and not kwargs:
            args = self._spec.input_signature
        return self._concrete(self._spec.bound(args, kwargs))

    def _concrete(self, arguments: Any) -> concrete.ConcreteFunction:
        inner = graphs.get_default_graph()
        graph, _ = body_graph.around(inner)
        with self._lock:
            traces = _traces(graph, self)
            signed = self._spec.input_signature
            kind = _mode(), () if signed is not None else leaves.key(list(arguments))
            for place in (None, inner):
                found = traces.by_key.get((place, kind))
                if found is not None:
                    return found
            only_ranks = self._relaxes and signed is None and self._is_known(traces, arguments)
            if only_ranks:
                kind = _mode(), ("ranks", leaves.key(list(arguments), only_ranks=True))
                found = traces.by_key.get((None, kind))
                if found is not None:
                    return found
            made = self._traced(traces, arguments, only_ranks)
            traces.by_key[None if made.graph.is_portable else inner, kind] = made
        return made

    def _is_known(self, traces: _Traces, arguments: Any) -> bool:
        """Return whether this replica traced a call with such arguments, except for their sizes."""
        kind = _mode(), leaves.key(list(arguments), only_ranks=True)
        is_known = kind in traces.missed
        traces.missed.add(kind)
        return is_known

    def _traced(
        self, traces: _Traces, arguments: Any, only_ranks: bool
    ) -> concrete.ConcreteFunction:
        if not self._makes_once:
            return self._trace(arguments, bodies.lifting_creator([]), only_ranks)
        if traces.is_traced:
            return self._trace(arguments, bodies.refuse, only_ranks)
        traces.is_traced = True
        try:
            made = self._trace(arguments, bodies.lifting_creator(traces.made_variables), only_ranks)
        except BaseException:
            traces.is_traced = False
            raise
        if not traces.made_variables:
            return made
        # TensorFlow traces again, so a function that makes variables in each call is refused now.
        return self._trace(arguments, bodies.refuse, only_ranks)

    def _converted(self, *args: Any, **kwargs: Any) -> Any:
        """Call the Python function, whose control flow over tensors becomes operations."""
        if not self._autograph:
            return self._python_function(*args, **kwargs)
        operators = Operators(features=self._autograph_options)
        return operators.converted(self._python_function)(*args, **kwargs)

    def _trace(
        self, arguments: Any, creator: concrete.Creator, only_ranks: bool
    ) -> concrete.ConcreteFunction:
        args, _ = arguments
        signed = self._spec.input_signature
        if signed is not None:
            arguments = (*signed, *args[len(signed) :]), {}
        return concrete.trace(
            self._converted,
            self._name,
            arguments,
            self._spec.names(len(args)),
            creator,
            attributes=self._attributes,
            only_ranks=only_ranks,
        )


class _Method:
    """The function of one object, which it keeps alive until the call ends."""

    def __init__(self, function: Function, instance: Any) -> None:
        self._function = function
        self.__self__ = instance

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)


class _WeakMethod:
    """A method of an object, which it does not keep alive."""

    def __init__(self, function: Callable[..., Any], instance: Any) -> None:
        self.__func__ = function
        self._instance = weakref.ref(instance)
        self.__name__ = _name_of(function)
        self.__signature__ = signature.without_self(function)

    @property
    def __self__(self) -> Any:
        """The object.

        Raises:
            ReferenceError: the program does not hold the object any more.
        """
        instance = self._instance()
        if instance is None:
            raise ReferenceError(f"the object of method '{self.__name__}' exists no longer")
        return instance

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__func__(self.__self__, *args, **kwargs)


def _traces(graph: Any, function: Function) -> _Traces:
    found: _Traces = graph.traces.setdefault(function, _Traces())
    return found


def _mode() -> Any:
    """Return a key of the replica for which a graph is built, if there are several replicas.

    A trace reads and changes the copies of variables that belong to its replica.
    """
    mode = distribution_modes.current()
    if mode is None or mode.strategy.num_replicas_in_sync == 1:
        return None
    return mode.strategy, getattr(mode.replica, "replica_index", None), mode.update_device


def _name_of(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    name: str = getattr(function, "__name__", type(function).__name__)
    return name.replace("<lambda>", "lambda")
