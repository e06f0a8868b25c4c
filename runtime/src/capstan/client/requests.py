"""The fetches and feeds of a run. They are resolved once, because a training loop repeats them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from capstan.client import feeds as feeding
from capstan.client import fetches as fetching
from capstan.core import dtypes
from capstan.framework import facts, opdef
from capstan.framework import graph as graphs

Array = np.ndarray[Any, Any]
Wrap = Callable[[Any, dtypes.DType], Any]
"""A function that returns a TensorHandle for the fetched text and the type of a tensor."""


class StringArray(np.ndarray[Any, Any]):
    """A fetched string vector that is false when it is empty.

    TensorFlow 1 scripts write `while sess.run(tf.report_uninitialized_variables())`. In NumPy 2 the
    truth value of an empty array is an error.
    """

    def __bool__(self) -> bool:
        return bool(self.item()) if self.size == 1 and self.ndim == 0 else self.size > 0

    def __repr__(self) -> str:
        return repr(np.asarray(self))


class Request:
    """The fetches of a run and the keys of its feed, resolved. Immutable."""

    __slots__ = (
        *("_converters", "_handles", "_is_plain", "_rebuild", "_tensors", "_wrap"),
        *("feed_names", "fetch_names", "target_names"),
    )

    def __init__(
        self, fetches: fetching.Fetches, fed: Sequence[graphs.Tensor], is_plain: bool, wrap: Wrap
    ) -> None:
        """Build the request. `is_plain` is true if each key of the feed names one tensor."""
        self.feed_names = tuple(tensor.name for tensor in fed)
        self.fetch_names = tuple(tensor.name for tensor in fetches.tensors)
        self.target_names = tuple(op.name for op in fetches.targets)
        self._tensors = fetches.tensors
        self._rebuild = fetches.rebuild
        self._converters = tuple(map(feeding.converter, fed))
        self._is_plain = is_plain
        self._wrap = wrap
        self._handles = {
            tensor: tensor.op.inputs[0].dtype
            for tensor in fetches.tensors
            if opdef.role(tensor.op.type) is facts.Role.SESSION_HANDLE
        }

    def values(self, feed_dict: Mapping[Any, Any] | None) -> dict[str, Array]:
        """Return the arrays to feed, by the names of their tensors.

        Raises:
            TypeError, ValueError: a value does not have the dtype or shape of its tensor.
        """
        if not feed_dict:
            return {}
        given: Sequence[Any] = tuple(feed_dict.values())
        if not self._is_plain:
            given = [part for key, value in feed_dict.items() for part in feeding.parts(key, value)]
        return {
            name: convert(value)
            for name, convert, value in zip(self.feed_names, self._converters, given, strict=True)
        }

    def answer(self, values: Sequence[Array]) -> Any:
        """Return the values of `fetch_names` in the structure that the caller passed."""
        found: dict[object, Any] = {
            tensor: _present(value) for tensor, value in zip(self._tensors, values, strict=True)
        }
        for tensor, dtype in self._handles.items():
            found[tensor] = self._wrap(found[tensor], dtype)
        return self._rebuild(found)


class Requests:
    """The requests of one graph. A request is built once and then kept. Thread-safe."""

    def __init__(self, graph: graphs.Graph, wrap: Wrap) -> None:
        self._graph = graph
        self._wrap = wrap
        self._known: dict[object, Request] = {}

    def find(self, fetches: Any, feed_dict: Mapping[Any, Any] | None) -> Request:
        """Return the request for `fetches` and the keys of `feed_dict`.

        The method does not read the values of `feed_dict`.

        Raises:
            TypeError, ValueError: a fetch or a key is not in the graph, or a tensor is fed twice.
        """
        key = _key(fetches, feed_dict)
        request = self._known.get(key) if key is not None else None
        if request is None:
            request = self._read(fetches, feed_dict or {})
            if key is not None:
                self._known[key] = request
        return request

    def _read(self, fetches: Any, feed_dict: Mapping[Any, Any]) -> Request:
        fed = [tensor for key in feed_dict for tensor in feeding.resolve(key, self._graph)]
        is_plain = not any(map(feeding.is_several, feed_dict))
        if not is_plain and len(set(fed)) < len(fed):
            raise ValueError(
                "Cannot flatten dict because a key is not unique: a tensor is fed twice."
            )
        return Request(fetching.resolve(fetches, self._graph), fed, is_plain, self._wrap)


def _key(fetches: Any, feed_dict: Mapping[Any, Any] | None) -> object:
    """Return a lookup key for `Requests.find`, or None if the structure is not hashable."""
    key = (fetching.structure(fetches), tuple(feed_dict) if feed_dict else ())
    try:
        hash(key)
    except TypeError:
        return None
    return key


def _present(value: Any) -> Any:
    """Return a fetched value in the form that the caller gets.

    A scalar becomes a NumPy scalar or `bytes`. An array of strings becomes a StringArray. A tensor
    of a quantized type becomes an array of integers.
    """
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.kind == "V":
        dtype = dtypes.as_dtype(value.dtype)
        value = value.view(dtypes.levels(dtype).as_numpy_dtype) if dtype.is_quantized else value
    if value.ndim == 0:
        return value[()]
    return value.view(StringArray) if value.dtype == object else value
