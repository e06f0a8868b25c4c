"""What makes an item from the features of an Example (contrib/slim/.../tfexample_decoder.py)."""

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from capstan.api import array_ops, cond_ops, logic_ops, math_ops, reduce_ops, sparse_math_ops
from capstan.core import dtypes
from capstan.framework import sparse_tensor
from capstan.framework.raw import raw


class ItemHandler(abc.ABC):
    """Names the features that an item needs, and makes the item from their tensors."""

    def __init__(self, keys: Any) -> None:
        """`keys` is the name of a feature, or a list of names."""
        self._keys = keys if isinstance(keys, tuple | list) else [keys]

    @property
    def keys(self) -> Any:
        """The names of the features."""
        return self._keys

    @abc.abstractmethod
    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """Return the item. `keys_to_tensors` has the parsed tensor of each feature."""


class ItemHandlerCallback(ItemHandler):
    """Makes an item with a function of the dictionary from features to tensors."""

    def __init__(self, keys: Any, func: Callable[[Mapping[str, Any]], Any]) -> None:
        super().__init__(keys)
        self._func = func

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        return self._func(keys_to_tensors)


class BoundingBox(ItemHandler):
    """Makes boxes of shape [boxes, 4] from four features: ymin, xmin, ymax and xmax."""

    def __init__(self, keys: Sequence[str] | None = None, prefix: str = "") -> None:
        """`keys` are other names of the four features. `prefix` comes before each name.

        Raises:
            ValueError: there are not four keys.
        """
        names = ["ymin", "xmin", "ymax", "xmax"] if keys is None else keys
        if len(names) != 4:
            raise ValueError(f"BoundingBox expects 4 keys but got {len(names)}")
        super().__init__([prefix + name for name in names])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        tensors = [keys_to_tensors[key] for key in self.keys]
        sides = [each.values if _is_sparse(each) else each for each in tensors]
        rows = [array_ops.expand_dims(side, 0) for side in sides]
        return array_ops.transpose(array_ops.concat(rows, 0))


class Tensor(ItemHandler):
    """Makes a dense tensor from one feature, in its own shape or another one."""

    def __init__(
        self, tensor_key: str, shape_keys: Any = None, shape: Any = None, default_value: Any = 0
    ) -> None:
        """The shape is `shape`, or what the features `shape_keys` hold.

        `default_value` is for the elements that a sparse feature lacks.

        Raises:
            ValueError: `shape_keys` and `shape` are both given.
        """
        if shape_keys and shape is not None:
            raise ValueError("Cannot specify both shape_keys and shape parameters.")
        if shape_keys and not isinstance(shape_keys, list):
            shape_keys = [shape_keys]
        self._tensor_key = tensor_key
        self._shape_keys = shape_keys or []
        self._shape = shape
        self._default_value = default_value
        super().__init__([tensor_key, *self._shape_keys])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        tensor, shape = keys_to_tensors[self._tensor_key], self._shape
        if self._shape_keys:
            sizes = [_dense(keys_to_tensors[key]) for key in self._shape_keys]
            shape = raw.Reshape(array_ops.stack(sizes), [-1])
        if not _is_sparse(tensor):
            return tensor if shape is None else raw.Reshape(tensor, shape)
        if shape is not None:
            tensor = sparse_math_ops.sparse_reshape(tensor, shape)
        return _dense(tensor, self._default_value)


class LookupTensor(Tensor):
    """Makes a tensor as `Tensor` does, and looks its elements up in a table."""

    def __init__(
        self,
        tensor_key: str,
        table: Any,
        shape_keys: Any = None,
        shape: Any = None,
        default_value: Any = "",
    ) -> None:
        self._table = table
        super().__init__(tensor_key, shape_keys, shape, default_value)

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        return self._table.lookup(super().tensors_to_item(keys_to_tensors))


class BackupHandler(ItemHandler):
    """Makes the item of one handler, or that of another one if the first item has no elements."""

    def __init__(self, handler: Any, backup: Any) -> None:
        """Take two handlers.

        Raises:
            ValueError: one of them is not an ItemHandler.
        """
        for name, each in (("Primary", handler), ("Backup", backup)):
            if not isinstance(each, ItemHandler):
                fault = f"{name} handler is of type {type(each)} instead of ItemHandler"
                raise ValueError(fault)  # noqa: TRY004  # TensorFlow's type
        self._handler = handler
        self._backup = backup
        super().__init__([*handler.keys, *backup.keys])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        item = self._handler.tensors_to_item(keys_to_tensors)
        count = reduce_ops.reduce_prod(array_ops.shape(item))
        return cond_ops.cond(
            logic_ops.equal(count, 0),
            lambda: self._backup.tensors_to_item(keys_to_tensors),
            lambda: item,
        )


class SparseTensor(ItemHandler):
    """Makes a sparse tensor from two features: the indices along the last axis, and the values."""

    def __init__(
        self,
        indices_key: str | None = None,
        values_key: str | None = None,
        shape_key: str | None = None,
        shape: Any = None,
        densify: bool = False,
        default_value: Any = 0,
    ) -> None:
        """The features are `indices` and `values` by default.

        The shape is what the feature `shape_key` holds, else `shape`, else that of the indices.
        With `densify`, the item is dense, with `default_value` where there are no values.
        """
        self._indices_key = indices_key or "indices"
        self._values_key = values_key or "values"
        self._shape_key = shape_key
        self._shape = shape
        self._densify = densify
        self._default_value = default_value
        super().__init__([self._indices_key, self._values_key, *filter(None, [shape_key])])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        indices, values = keys_to_tensors[self._indices_key], keys_to_tensors[self._values_key]
        if self._shape_key:
            shape = _dense(keys_to_tensors[self._shape_key])
        else:
            shape = self._shape or indices.dense_shape
        rank = array_ops.shape(indices.indices)[1]
        kept = array_ops.slice(indices.indices, [0, 0], array_ops.stack([-1, rank - 1]))
        last = raw.Reshape(math_ops.cast(indices.values, dtypes.int64), [-1, 1])
        places = array_ops.concat([kept, last], 1)
        tensor = sparse_tensor.SparseTensor(places, values.values, shape)
        return _dense(tensor, self._default_value) if self._densify else tensor


def _is_sparse(tensor: Any) -> bool:
    return isinstance(tensor, sparse_tensor.SparseTensor)


def _dense(tensor: Any, default_value: Any = 0) -> Any:
    if not _is_sparse(tensor):
        return tensor
    return sparse_math_ops.sparse_tensor_to_dense(tensor, default_value)
