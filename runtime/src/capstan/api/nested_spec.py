"""The types of values that hold whole structures: datasets and optionals.

Sources: python/data/ops/{dataset,optional}_ops.py.
"""

from abc import abstractmethod
from typing import Any

from capstan.api.type_spec import TypeSpec
from capstan.core import dtypes, tensor_shape
from capstan.framework.raw import raw


class NestedSpec(TypeSpec):
    """The type of a value that is one variant, and whose own value has a structure of types."""

    __slots__ = ("_structure",)

    def __init__(self, structure: Any, shape: Any = ()) -> None:
        super().__init__(shape, dtypes.variant)
        self._structure = structure

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Return whether a value, or a value of another type, may be of this type."""
        given = getattr(spec_or_value, "_component_spec", spec_or_value)
        return (
            type(given) is type(self)
            and self._shape.is_compatible_with(given.shape)
            and _fits(self._structure, given._structure)
        )

    def most_specific_compatible_type(self, other: Any) -> Any:
        if type(self) is not type(other):
            raise ValueError(f"Types are not compatible: {self!r} vs {other!r}")
        shape = self._shape.most_specific_compatible_shape(other.shape)
        return self._with(_common(self._structure, other._structure), shape)

    def with_shape(self, shape: tensor_shape.TensorShape) -> Any:
        return self._with(self._structure, shape)

    @abstractmethod
    def _with(self, structure: Any, shape: tensor_shape.TensorShape) -> Any:
        """Return the type of values with another structure and another shape."""

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, NestedSpec)
            and type(self) is type(other)
            and self._shape.internal == other._shape.internal
            and self._structure == other._structure
        )

    __hash__ = TypeSpec.__hash__

    # --- a component of the elements of a dataset

    @property
    def legacy_type(self) -> Any:
        return self

    @property
    def legacy_shape(self) -> Any:
        return self

    @property
    def legacy_class(self) -> Any:
        return self


class NestedVariant:
    """A batch of datasets. Only transformations of the dataset that it is an element of read it."""

    def __init__(self, variant_tensor: Any, spec: Any) -> None:
        self._variant_tensor = variant_tensor
        self._component_spec = spec

    @property
    def element_spec(self) -> Any:
        """The structure of the elements of each dataset."""
        return self._component_spec.element_spec

    @property
    def dataset_shape(self) -> tensor_shape.TensorShape:
        """The shape of the batch."""
        shape: tensor_shape.TensorShape = self._component_spec.shape
        return shape

    @classmethod
    def of(cls, tensor: Any, spec: Any) -> "NestedVariant":
        """Return the batch that a tensor stands for."""
        tensor = raw.Identity(tensor)
        tensor.set_shape(spec.shape)
        return cls(tensor, spec)


def _fits(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        same = isinstance(other, dict) and one.keys() == other.keys()
        return same and all(_fits(one[key], other[key]) for key in one)
    if isinstance(one, tuple):
        same = isinstance(other, tuple) and len(one) == len(other)
        return same and all(map(_fits, one, other))
    return bool(one.is_compatible_with(other))


def _common(one: Any, other: Any) -> Any:
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return {key: _common(one[key], other[key]) for key in one}
    if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
        parts = [_common(*pair) for pair in zip(one, other, strict=True)]
        return type(one)(*parts) if hasattr(one, "_fields") else tuple(parts)
    if not isinstance(one, TypeSpec):
        raise ValueError(f"Types are not compatible: {one!r} vs {other!r}")  # noqa: TRY004
    return one.most_specific_compatible_type(other)
