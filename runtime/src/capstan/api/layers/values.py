"""Functions of `tf.keras.backend` that read and set values in Keras's session
(python/keras/backend.py).
"""

from collections.abc import Iterable, Mapping, Sequence, ValuesView
from typing import Any

import numpy as np

from capstan.api import variables
from capstan.api.layers import sessions
from capstan.framework import graph as graphs
from capstan.framework import nest
from capstan.framework.grouping import group


def batch_get_value(tensors: Sequence[Any]) -> list[Any]:
    """Return the values of variables or tensors. Blocks."""
    if not tensors:
        return []
    with tensors[0].graph.as_default():
        found: list[Any] = sessions.get_session().run(list(tensors))
    return found


def get_value(x: Any) -> Any:
    """Return the value of a variable or tensor. Blocks."""
    return batch_get_value([x])[0]


def batch_set_value(tuples: Iterable[tuple[Any, Any]]) -> None:
    """Set variables to values, given as pairs. Blocks."""
    pairs = list(tuples)
    if not pairs:
        return
    with pairs[0][0].graph.as_default():
        session = sessions.get_session()
        for variable, value in pairs:
            variable.load(np.asarray(value, variable.dtype.base_dtype.as_numpy_dtype), session)


def set_value(x: Any, value: Any) -> None:
    """Set a variable to a value. Blocks."""
    batch_set_value([(x, value)])


class _Function:
    """Computes tensors from values of other tensors, and then runs the updates."""

    def __init__(self, inputs: Any, outputs: Any, updates: Any, arguments: dict[str, Any]) -> None:
        self._inputs, self._outputs = _listed(inputs), outputs
        self._fetches = arguments.pop("fetches", None) or []
        feeds = arguments.pop("feed_dict", None)
        self._feeds = {} if feeds is None else feeds  # The program may change it later.
        self._options = arguments
        self._tensors = nest.flatten(outputs)
        self._graph = (self._tensors or self._inputs)[0].graph
        with self._graph.as_default(), self._graph.control_dependencies(self._tensors):
            self._updates = group(*map(_operation, updates or ()))

    def __call__(self, inputs: Any) -> Any:
        """Return the outputs in their structure. `inputs` has a value for each input. Blocks.

        None stands for the default of a placeholder. A tensor or a variable stands for its value.
        """
        pairs = zip(self._inputs, _listed(inputs), strict=True)
        with self._graph.as_default():
            session = sessions.get_session()
            given = _evaluated(session, {key: each for key, each in pairs if each is not None})
            wanted = [self._tensors, self._updates, self._fetches]
            found, *_ = session.run(wanted, {**self._feeds, **given}, **self._options)
        return nest.packed(self._outputs, found)


def _listed(given: Any) -> list[Any]:
    """Return the inputs, or their values, of a list, of a dictionary, or of one input."""
    if isinstance(given, Mapping):
        return [given[key] for key in sorted(given)]
    # The values of sparse tensors are tuples, too.
    is_list = isinstance(given, list | ValuesView) or type(given) is tuple
    return list(given) if is_list else [given]


def _evaluated(session: Any, given: dict[Any, Any]) -> dict[Any, Any]:
    """Return the values by input, with values in the place of tensors and variables."""
    kinds = (graphs.Tensor, variables.Variable)
    tensors = {key: each for key, each in given.items() if isinstance(each, kinds)}
    values = session.run(list(tensors.values())) if tensors else []
    return {**given, **dict(zip(tensors, values, strict=True))}


def _operation(update: Any) -> graphs.Operation:
    """Return the operation of an update: an operation, or a pair of a variable and its value."""
    if isinstance(update, tuple):
        variable, value = update
        update = variable.assign(value)
    operation: graphs.Operation = getattr(update, "op", update)
    return operation


def function(
    inputs: Any, outputs: Any, updates: Any = None, name: str | None = None, **kwargs: Any
) -> _Function:
    """Return a Python function of the values of `inputs` that returns the values of `outputs`.

    `inputs` is a list of tensors, a dictionary of them, or one tensor, and so are the values. A
    call also runs `updates`: operations, or pairs of a variable and its new value. `kwargs` are
    arguments of `tf.Session.run`: `fetches` run in no order with the outputs, `feed_dict` has
    values of more tensors and may change between calls, and `options` and `run_metadata` are as
    there.

    Raises:
        ValueError: there is another argument.
    """
    unknown = kwargs.keys() - {"fetches", "feed_dict", "options", "run_metadata"}
    if unknown:
        raise ValueError(f'Invalid argument "{min(unknown)}" passed to K.function')
    return _Function(inputs, outputs, updates, kwargs)
