"""`tf.data.experimental.Optional`: an element, or nothing (python/data/ops/optional_ops.py)."""

from typing import Any, NoReturn

from capstan.api import data_structure, nested_spec
from capstan.api.data_iterators import Iterator
from capstan.core import tensor_shape
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

__all__ = ["Optional", "OptionalSpec", "get_next_as_optional"]


class Optional:
    """An element of a dataset, or nothing. `get_value` may only run if there is a value."""

    def __init__(self, variant_tensor: Any, spec: Any) -> None:
        """Programs call `from_value` or `get_next_as_optional` instead."""
        self._variant_tensor = variant_tensor
        self._spec = spec

    @staticmethod
    def from_value(value: Any) -> "Optional":
        """Return an optional that has the value of an element."""
        element = data_structure.converted(value)
        tensor = raw.OptionalFromValue(data_structure.tensors(element))
        return Optional(tensor, data_structure.spec_of(element))

    @staticmethod
    def none_from_structure(value_structure: Any) -> "Optional":
        """Return an optional without a value. `value_structure` is as the property gives it."""
        return Optional(raw.OptionalNone(), value_structure)

    @property
    def _component_spec(self) -> "OptionalSpec":
        return OptionalSpec(self._spec)

    @property
    def value_structure(self) -> Any:
        """The type of each component, such as a `tf.TensorSpec`, in the structure of a value."""
        return self._spec

    def has_value(self, name: str | None = None) -> Any:
        """Return whether there is a value, as a bool tensor."""
        return raw.OptionalHasValue(self._variant_tensor, name=name)

    def get_value(self, name: str | None = None) -> Any:
        """Return the value.

        If there is no value, a step that computes it fails with InvalidArgumentError.
        """
        values = raw.OptionalGetValue(
            self._variant_tensor, name=name, **data_structure.flat(self._spec)
        )
        found = values if isinstance(values, list) else [values]
        return data_structure.element(self._spec, found)


class OptionalSpec(nested_spec.NestedSpec):
    """The type of an Optional. In a dataset it is one variant.

    `value_structure` has the type of each component, in the structure of a value.
    """

    __slots__ = ()

    def __init__(self, value_structure: Any) -> None:
        super().__init__(value_structure)

    @staticmethod
    def from_value(value: Optional) -> "OptionalSpec":
        """Return the type of an optional."""
        return OptionalSpec(value.value_structure)

    @property
    def value_type(self) -> type:
        return Optional

    def _with(self, structure: Any, shape: tensor_shape.TensorShape) -> "OptionalSpec":
        return OptionalSpec(structure)

    def batched(self, count: int | None) -> NoReturn:
        raise NotImplementedError("An optional cannot be batched. Batch its value first.")

    def sliced(self) -> NoReturn:
        raise NotImplementedError("An optional has no slices.")

    def unpacked(self, tensor: Any) -> Optional:
        return Optional(tensor, self._structure)

    def __repr__(self) -> str:
        return f"OptionalSpec({self._structure!r})"


def get_next_as_optional(iterator: Iterator) -> Optional:
    """Return the next element of an iterator, or nothing after the last element.

    A step that runs the optional waits until the element is there.
    """
    graph = graphs.get_default_graph()
    with graph.colocate_with(iterator._iterator_resource.op):
        tensor = raw.IteratorGetNextAsOptional(
            iterator._iterator_resource, **data_structure.flat(iterator._spec)
        )
    return Optional(tensor, iterator._spec)
