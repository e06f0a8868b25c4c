"""Lookup tables: TensorFlow's HashTable and MutableHashTable (core/kernels/lookup_table_op.cc).

A table maps a key to a value of the shape `value_shape`. Keys are numbers or strings, or vectors
of them in a table with a `key_shape`.
"""

import abc
import threading
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from capstan import errors
from capstan.core import dtypes, resource_name, shapes
from capstan.core.arrays import Array
from capstan.resources import resource

KIND: Final = "lookup table"
"""The kind of all tables, for `resource.Registry.find`."""


class LookupTable(resource.Resource):
    """A table from keys to values. Thread-safe. No method blocks."""

    key_shape: tuple[int, ...] = ()

    def __init__(
        self,
        name: resource_name.ResourceName,
        key_dtype: dtypes.DType,
        value_dtype: dtypes.DType,
        value_shape: tuple[int, ...] = (),
    ) -> None:
        super().__init__(name)
        self.key_dtype = key_dtype
        self.value_dtype = value_dtype
        self.value_shape = value_shape
        self._lock = threading.Lock()
        self._values: dict[Any, Any] = {}

    def __len__(self) -> int:
        return len(self._values)

    def find(self, keys: Array, default: Array) -> Array:
        """Return the values of `keys`, and `default` for the keys that the table lacks.

        `default` has the shape of one value, or of the result, which has a default for each key.

        Raises:
            InvalidArgumentError: `default` has another shape.
        """
        cells = self._keys(keys)
        shape = self._value_shapes(keys)
        if default.shape == self.value_shape:
            with self._lock:
                get, one = self._values.get, self._cells(default[np.newaxis])[0]
                return self._array([get(key, one) for key in cells], shape)
        if default.shape != shape:
            raise _invalid(
                f"Expected shape {shapes.show(self.value_shape)} or {shapes.show(shape)} for "
                f"default value, got {shapes.show(default.shape)}"
            )
        with self._lock:
            get = self._values.get
            each = self._cells(default.reshape(len(cells), *self.value_shape))
            pairs = zip(cells, each, strict=True)
            return self._array([get(key, other) for key, other in pairs], shape)

    def export(self) -> tuple[Array, Array]:
        """Return all keys, and their values in the same order."""
        with self._lock:
            keys, values = list(self._values), list(self._values.values())
        array = np.empty((len(keys), *self.key_shape), self.key_dtype.as_numpy_dtype)
        if keys:
            array[:] = keys
        return array, self._array(values, (len(keys), *self.value_shape))

    def initialize(self, keys: Sequence[Any], values: Array) -> None:
        """Fill an empty table for good."""
        raise _invalid(f"Table {self.container} {self.name} is not initializable")

    def insert(self, keys: Array, values: Array) -> None:
        """Set the values of some keys."""
        raise errors.UnimplementedError(
            None, None, "Insert not supported by InitializableLookupTable implementations"
        )

    def remove(self, keys: Array) -> None:
        """Forget some keys. A key that the table lacks is ignored."""
        raise errors.UnimplementedError(
            None, None, "Remove not supported by InitializableLookupTable implementations"
        )

    @abc.abstractmethod
    def replace(self, keys: Array, values: Array) -> None:
        """Forget everything, and hold the given keys and values."""

    def _keys(self, keys: Array) -> list[Any]:
        """Return the keys in an array with any axes, as the table holds them."""
        cells: list[Any] = keys.ravel().tolist()
        return cells

    def _value_shapes(self, keys: Array) -> tuple[int, ...]:
        """Return the shape of the values of `keys`."""
        axes = keys.shape[: keys.ndim - len(self.key_shape)]
        return (*axes, *self.value_shape)

    def _cells(self, values: Array) -> list[Any]:
        """Return the values along the first axis, as the table holds them."""
        if self.value_shape:
            return [row.copy() for row in values]
        cells: list[Any] = values.tolist()
        return cells

    def _array(self, cells: list[Any], shape: tuple[int, ...]) -> Array:
        array = np.empty((len(cells), *self.value_shape), self.value_dtype.as_numpy_dtype)
        if cells:
            array[...] = np.stack(cells) if self.value_shape else _column(cells, array.dtype)
        return array.reshape(shape)


class HashTable(LookupTable):
    """A table that is filled once."""

    _is_initialized = False

    def find(self, keys: Array, default: Array) -> Array:
        if not self._is_initialized:
            raise errors.FailedPreconditionError(None, None, "Table not initialized.")
        if not default.size:
            raise _invalid("The default value has no elements, but a lookup needs one")
        # As in TensorFlow, the first element is the default for every key.
        return super().find(keys, default.ravel()[0:1].reshape(()))

    def export(self) -> tuple[Array, Array]:
        if not self._is_initialized:
            raise errors.AbortedError(None, None, "HashTable is not initialized.")
        return super().export()

    def initialize(self, keys: Sequence[Any], values: Array) -> None:
        """Fill the table. If the table is filled already, compare only the number of keys.

        Raises:
            FailedPreconditionError: a key has two values, or the table has another number of keys.
        """
        found: dict[Any, Any] = {}
        for key, value in zip(keys, values.tolist(), strict=True):
            if found.setdefault(key, value) != value:
                raise errors.FailedPreconditionError(
                    None,
                    None,
                    f"HashTable has different value for same key. Key {_shown(key)} has "
                    f"{_shown(found[key])} and trying to add value {_shown(value)}",
                )
        with self._lock:
            if self._is_initialized and len(keys) != len(self._values):
                raise errors.FailedPreconditionError(
                    None, None, "Table was already initialized with different data."
                )
            if not self._is_initialized:
                self._values = found
                self._is_initialized = True

    def replace(self, keys: Array, values: Array) -> None:
        """Fill the table, as `initialize` does.

        Raises:
            InvalidArgumentError: there are no keys.
            FailedPreconditionError: as `initialize`.
        """
        if not keys.size:
            raise _invalid("keys and values cannot be empty tensors.")
        self.initialize(keys.tolist(), values)


class MutableHashTable(LookupTable):
    """A table that changes."""

    def insert(self, keys: Array, values: Array) -> None:
        pairs = self._pairs(keys, values)
        with self._lock:
            self._values.update(pairs)

    def remove(self, keys: Array) -> None:
        with self._lock:
            for key in self._keys(keys):
                self._values.pop(key, None)

    def replace(self, keys: Array, values: Array) -> None:
        pairs = self._pairs(keys, values)
        with self._lock:
            self._values = pairs

    def _pairs(self, keys: Array, values: Array) -> dict[Any, Any]:
        names, expected = self._keys(keys), self._value_shapes(keys)
        if values.shape != expected:
            raise _invalid(
                f"Expected shape {shapes.show(expected)} for value, got {shapes.show(values.shape)}"
            )
        cells = self._cells(values.reshape(len(names), *self.value_shape))
        return dict(zip(names, cells, strict=True))


class DenseHashTable(MutableHashTable):
    """A table that changes, and that does not take the two keys of its operation.

    TensorFlow marks empty and deleted places of its buckets with these keys. Capstan needs no
    marks, but programs rely on the errors.
    """

    _reserved: tuple[Any, Any] = (None, None)

    def reserve(self, empty_key: Array, deleted_key: Array) -> None:
        """Refuse two keys from now on. All keys have the shape of these two.

        Raises:
            InvalidArgumentError: a key is neither a scalar nor a vector, the keys differ in shape
                or are equal, or the table already reserves other keys.
        """
        if empty_key.ndim > 1:
            raise _invalid(
                f"Empty key must be a scalar or a vector, got shape {shapes.show(empty_key.shape)}"
            )
        if empty_key.shape != deleted_key.shape:
            raise _invalid(
                "Empty and deleted keys must have same shape, got shapes: "
                f"{shapes.show(empty_key.shape)} and {shapes.show(deleted_key.shape)}"
            )
        keys = _key(empty_key), _key(deleted_key)
        if keys[0] == keys[1]:
            raise _invalid("Empty and deleted keys cannot be equal")
        with self._lock:
            if self._reserved not in ((None, None), keys):
                raise _invalid(
                    f"Table {self.name} reserves the keys {list(map(_shown, self._reserved))}, "
                    f"not {list(map(_shown, keys))}"
                )
            self._reserved = keys
            self.key_shape = empty_key.shape

    def find(self, keys: Array, default: Array) -> Array:
        self._check_keys(keys)
        if default.shape != self.value_shape:
            raise _invalid(
                f"Expected shape {shapes.show(self.value_shape)} for default value, got "
                f"{shapes.show(default.shape)}"
            )
        return super().find(keys, default)

    def insert(self, keys: Array, values: Array) -> None:
        self._check_keys(keys)
        super().insert(keys, values)

    def remove(self, keys: Array) -> None:
        self._check_keys(keys)
        super().remove(keys)

    def replace(self, keys: Array, values: Array) -> None:
        """Forget everything, and hold the given keys and values.

        TensorFlow exports its buckets, in which a key is a row. The reserved keys are left out.
        """
        keys = keys.reshape(len(keys), *self.key_shape)
        values = values.reshape(len(values), *self.value_shape)
        pairs = self._pairs(keys, values)
        with self._lock:
            self._values = {key: value for key, value in pairs.items() if key not in self._reserved}

    def _keys(self, keys: Array) -> list[Any]:
        if self.key_shape and keys.shape[-1:] != self.key_shape:
            raise _invalid(
                f"Input key shape {shapes.show(keys.shape)} must end with the table's key shape "
                f"{shapes.show(self.key_shape)}"
            )
        count = keys.shape[0] if keys.ndim else 1
        (size,) = self.key_shape or (1,)
        if keys.size != count * size:
            raise _invalid(
                f"Expected key shape {shapes.show((count, *self.key_shape))} got "
                f"{shapes.show(keys.shape)}"
            )
        if not self.key_shape:
            return super()._keys(keys)
        return [tuple(row) for row in keys.reshape(count, size).tolist()]

    def _check_keys(self, keys: Array) -> None:
        given = set(self._keys(keys))
        for kind, key in zip(("empty_key", "deleted_key"), self._reserved, strict=True):
            if key in given:
                raise _invalid(f"Using the {kind} as a table key is not allowed")


def _column(cells: list[Any], dtype: Any) -> Array:
    if not dtype.hasobject:
        return np.array(cells, dtype)
    column = np.empty(len(cells), object)
    column[:] = cells
    return column


def _key(array: Array) -> Any:
    """Return a key as the table holds it: a scalar, or a tuple for a vector."""
    return tuple(array.tolist()) if array.ndim else array.item()


def _shown(cell: Any) -> str:
    if isinstance(cell, tuple):
        return f"[{','.join(map(_shown, cell))}]"
    return cell.decode(errors="replace") if isinstance(cell, bytes) else str(cell)


def _invalid(message: str) -> errors.OpError:
    return errors.InvalidArgumentError(None, None, message)
