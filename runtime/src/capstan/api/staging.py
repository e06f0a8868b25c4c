"""TensorFlow 1's staging areas (python/ops/data_flow_ops.py)."""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import array_ops, components, context, control_flow_ops
from capstan.api.scoped import scoped
from capstan.core import dtypes as core_dtypes
from capstan.core import tensor_shape
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


class BaseStagingArea:
    """A small buffer between the steps of a pipeline. Its operations share one device."""

    def __init__(
        self,
        dtypes: Sequence[Any],
        shapes: Any = None,
        names: Sequence[str] | None = None,
        shared_name: str | None = None,
        capacity: int = 0,
        memory_limit: int = 0,
    ) -> None:
        """The area holds at most `capacity` elements and `memory_limit` bytes. 0 means no limit.

        Raises:
            ValueError: `shared_name` is not a string, or `shapes` or `names` has another length
                than `dtypes`.
        """
        if shared_name is None:
            self._name = graphs.get_default_graph().unique_name(type(self).__name__)
        elif isinstance(shared_name, str):
            self._name = shared_name
        else:
            raise ValueError(f"shared_name must be a string, got {shared_name}")
        self._dtypes = components.type_list(dtypes)
        for kind, given in (("shapes", shapes), ("names", names)):
            if given is not None and len(given) != len(self._dtypes):
                raise ValueError(f"StagingArea {kind} must be the same length as dtypes")
        self._shapes = components.shapes_or_unknown(shapes, len(self._dtypes))
        self._names = names
        self._capacity = capacity
        self._memory_limit = memory_limit
        with context.name_scope(f"{self._name}_root"):
            self._coloc_op = control_flow_ops.no_op()

    @property
    def name(self) -> str:
        return self._name

    @property
    def dtypes(self) -> list[Any]:
        return self._dtypes

    @property
    def shapes(self) -> list[tensor_shape.TensorShape]:
        return self._shapes

    @property
    def names(self) -> Sequence[str] | None:
        return self._names

    @property
    def capacity(self) -> int:
        return self._capacity

    @property
    def memory_limit(self) -> int:
        return self._memory_limit

    def _attributes(self, name: str | None, default: str) -> dict[str, Any]:
        """Return the attributes with which a node names this area."""
        return {
            "shared_name": self._name,
            "capacity": self._capacity,
            "memory_limit": self._memory_limit,
            "name": name or f"{self._name}_{default}",
        }

    def _check_put(self, vals: Any, indices: Any) -> tuple[list[Any], list[int]]:
        """Return the given components as tensors, and their indices."""
        if isinstance(vals, dict):
            if not self._names:
                raise ValueError("Staging areas must have names to enqueue a dictionary")
            if not set(vals) <= set(self._names):
                raise ValueError(
                    "Keys in dictionary to put do not match names of staging area. Dictionary: "
                    f"{sorted(vals)}Queue: {sorted(self._names)}"
                )
            indices = [index for index, name in enumerate(self._names) if name in vals]
            vals = [vals[self._names[index]] for index in indices]
        else:
            if self._names:
                raise ValueError("You must enqueue a dictionary in a staging area with names")
            if indices is None:
                raise ValueError("Indices must be supplied when inserting a list of tensors")
            if len(indices) != len(vals):
                raise ValueError(
                    f"Number of indices {len(indices)} doesn't match number of values {len(vals)}"
                )
        if len(vals) > len(self._dtypes):
            raise ValueError(f"Unexpected number of inputs {len(vals)} vs {len(self._dtypes)}")
        return [self._component(*pair) for pair in zip(vals, indices, strict=True)], indices

    def _component(self, value: Any, index: int) -> Any:
        dtype, shape = self._dtypes[index], self._shapes[index]
        if getattr(value, "dtype", dtype) != dtype:
            raise ValueError(
                f"Datatypes do not match. Received val.dtype {value.dtype} and dtype {dtype}"
            )
        tensor = convert.convert_to_tensor(value, dtype, f"component_{index}")
        tensor.get_shape().assert_is_compatible_with(shape)
        return tensor

    def _result(self, tensors: Any, indices: Sequence[int]) -> Any:
        """Return the outputs of a node with their shapes, as a map if the area has names."""
        outputs = self._here(tensors)
        for output, index in zip(outputs, indices, strict=True):
            output.set_shape(self._shapes[index])
        if self._names:
            return {self._names[i]: each for each, i in zip(outputs, indices, strict=True)}
        return outputs

    def _here(self, tensors: Any) -> list[Any]:
        """Return `tensors` on the current device, which may not be the device of the area."""
        outputs = list(tensors) if isinstance(tensors, list | tuple) else [tensors]
        if control_flow_ops.no_op().device != self._coloc_op.device:
            outputs = [array_ops.identity(output) for output in outputs]
        return outputs


class StagingArea(BaseStagingArea):
    """A queue that cannot be closed. It is in the memory of the device that uses its elements."""

    def put(self, values: Any, name: str | None = None) -> Any:
        """Return an operation that adds an element. It waits while the area is full."""
        vals = values if isinstance(values, list | tuple | dict) else [values]
        with scoped(name, f"{self._name}_put", components.values(vals)) as scope:
            tensors, _ = self._check_put(vals, list(range(len(vals))))
            with context.colocate_with(self._coloc_op):
                return raw.Stage(tensors, **{**self._attributes(None, ""), "name": scope})

    def get(self, name: str | None = None) -> Any:
        """Return the components of the first element, which leaves the area.

        The operation waits while the area is empty.
        """
        with context.colocate_with(self._coloc_op):
            element = raw.Unstage(dtypes=self._dtypes, **self._attributes(name, "get"))
        return self._result(element, range(len(self._dtypes)))

    def peek(self, index: Any, name: str | None = None) -> Any:
        """Return a copy of element number `index`. The operation waits for the element."""
        with context.colocate_with(self._coloc_op):
            copied = raw.StagePeek(index, dtypes=self._dtypes, **self._attributes(name, "peek"))
        return self._result(copied, range(len(self._dtypes)))

    def size(self, name: str | None = None) -> Any:
        """Return the number of elements."""
        return raw.StageSize(dtypes=self._dtypes, **self._attributes(name, "size"))

    def clear(self, name: str | None = None) -> Any:
        """Return an operation that removes all elements."""
        return raw.StageClear(dtypes=self._dtypes, **self._attributes(name, "clear"))


class MapStagingArea(BaseStagingArea):
    """A store of elements by key. Their components may arrive and leave one at a time."""

    def __init__(
        self,
        dtypes: Sequence[Any],
        shapes: Any = None,
        names: Sequence[str] | None = None,
        shared_name: str | None = None,
        ordered: bool = False,
        capacity: int = 0,
        memory_limit: int = 0,
    ) -> None:
        """If the area is `ordered`, `get` without a key takes the smallest key."""
        super().__init__(dtypes, shapes, names, shared_name, capacity, memory_limit)
        self._prefix = "Ordered" if ordered else ""

    def put(self, key: Any, vals: Any, indices: Any = None, name: str | None = None) -> Any:
        """Return an operation that adds components of an element. It waits if the area is full."""
        with scoped(name, f"{self._name}_put", components.values(vals)) as scope:
            tensors, places = self._check_put(vals, indices)
            with context.colocate_with(self._coloc_op):
                attributes = {**self._attributes(None, ""), "name": scope}
                op = self._op("MapStage")
                return op(_key(key), list(places), tensors, dtypes=self._dtypes, **attributes)

    def peek(self, key: Any, indices: Any = None, name: str | None = None) -> Any:
        """Return copies of components of an element. The operation waits for the element."""
        places = self._places(indices)
        with context.colocate_with(self._coloc_op):
            copied = self._op("MapPeek")(
                _key(key), places, dtypes=self._types(places), **self._attributes(name, "pop")
            )
        return self._result(copied, places)

    def get(self, key: Any = None, indices: Any = None, name: str | None = None) -> Any:
        """Return a key and components of its element. The components leave the area.

        Without `key`, take the first element. The operation waits for the element.
        """
        places = self._places(indices)
        with context.colocate_with(self._coloc_op):
            if key is None:
                key, element = self._op("MapUnstageNoKey")(
                    places, dtypes=self._types(places), **self._attributes(name, "get_nokey")
                )
                (key,) = self._here(key)
            else:
                element = self._op("MapUnstage")(
                    _key(key), places, dtypes=self._types(places), **self._attributes(name, "get")
                )
        return key, self._result(element, places)

    def size(self, name: str | None = None) -> Any:
        """Return the number of complete elements."""
        return self._op("MapSize")(dtypes=self._dtypes, **self._attributes(name, "size"))

    def incomplete_size(self, name: str | None = None) -> Any:
        """Return the number of elements that lack a component."""
        attributes = self._attributes(name, "incomplete_size")
        return self._op("MapIncompleteSize")(dtypes=self._dtypes, **attributes)

    def clear(self, name: str | None = None) -> Any:
        """Return an operation that removes all elements."""
        return self._op("MapClear")(dtypes=self._dtypes, **self._attributes(name, "clear"))

    def _op(self, name: str) -> Callable[..., Any]:
        op: Callable[..., Any] = getattr(raw, self._prefix + name)
        return op

    def _types(self, places: Sequence[int]) -> list[Any]:
        return [self._dtypes[index] for index in places]

    def _places(self, indices: Any) -> list[int]:
        """Return the indices of the components that `indices` names."""
        if indices is None:
            return list(range(len(self._dtypes)))
        if not isinstance(indices, list | tuple):
            raise TypeError(f"Invalid indices type {type(indices)}")
        if not indices:
            raise ValueError("Empty indices")
        if all(isinstance(index, int) for index in indices):
            return list(indices)
        if not all(isinstance(index, str) for index in indices):
            raise TypeError(f"Mixed types in indices {indices}. May only be str or int")
        if self._names is None:
            raise ValueError(
                f"String indices provided {indices}, but this Staging Area was not created with "
                "names."
            )
        try:
            return [self._names.index(name) for name in indices]
        except ValueError:
            raise ValueError(f"Named index not in Staging Area names {self._names}") from None


def _key(key: Any) -> Any:
    return convert.convert_to_tensor(key, core_dtypes.int64, "key")
