"""The parts that all groups of `tf.data.Dataset`'s methods share."""

from typing import Any, ClassVar

import numpy as np

from capstan.api import data_structure, nested_spec
from capstan.core import dtypes, shapes, tensor_shape
from capstan.framework import convert, random_seed
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


class Structured:
    """What has elements of one structure: a dataset or an iterator."""

    _spec: Any

    @property
    def output_types(self) -> Any:
        """The type of each component, in the structure of an element."""
        return data_structure.legacy_types(self._spec)

    @property
    def output_shapes(self) -> Any:
        """The shape of each component, in the structure of an element."""
        return data_structure.legacy_shapes(self._spec)

    @property
    def element_spec(self) -> Any:
        """The type of each component, such as a `tf.TensorSpec`, in the structure of an element."""
        return self._spec

    @property
    def output_classes(self) -> Any:
        """The class of each component, in the structure of an element."""
        return data_structure.legacy_classes(self._spec)


class Base(Structured):
    """A dataset: the scalar variant that an operation returns, and the structure of an element."""

    _variant_tensor: Any
    _given_options: Any = None
    _kind: ClassVar[type]
    """`tf.data.Dataset`, which derives from this class."""

    def _of(self, variant_tensor: Any, spec: Any) -> Any:
        """Return the dataset of a variant."""
        return self._kind(variant_tensor, spec)

    def _unary(self, op: str, *inputs: Any, spec: Any = None, **attrs: Any) -> Any:
        """Return the dataset of an op that reads this dataset and `inputs`."""
        spec = self._spec if spec is None else spec
        attrs.update(data_structure.flat(spec))
        made = self._of(getattr(raw, op)(self._variant_tensor, *inputs, **attrs), spec)
        made._given_options = self._given_options
        return made


class DatasetSpec(nested_spec.NestedSpec):
    """The type of a `tf.data.Dataset`, also as a component of another dataset.

    `element_spec` has the type of each component, in the structure of an element. `dataset_shape`
    is not empty for a batch of datasets.
    """

    __slots__ = ()

    def __init__(self, element_spec: Any, dataset_shape: Any = ()) -> None:
        super().__init__(element_spec, dataset_shape)

    @staticmethod
    def from_value(value: Base) -> "DatasetSpec":
        """Return the type of a dataset."""
        return DatasetSpec(value.element_spec)

    @property
    def element_spec(self) -> Any:
        return self._structure

    @property
    def value_type(self) -> type:
        return Base._kind

    def _with(self, structure: Any, shape: tensor_shape.TensorShape) -> "DatasetSpec":
        return DatasetSpec(structure, shape)

    def sliced(self) -> "DatasetSpec":
        if self._shape.ndims == 0:
            raise ValueError("Unbatching a dataset is only supported for rank >= 1")
        return DatasetSpec(self._structure, self._shape[1:])

    def unpacked(self, tensor: Any) -> Any:
        if self._shape.ndims == 0:
            return Base._kind(tensor, self._structure)
        return nested_spec.NestedVariant.of(tensor, self)

    def __repr__(self) -> str:
        return f"DatasetSpec({self._structure!r}, {self._shape!r})"


def int64(value: Any, name: str) -> Any:
    """Return a parameter of a dataset as a tensor."""
    return convert.convert_to_tensor(value, dtypes.int64, name=name)


def seeds(seed: Any) -> tuple[Any, Any]:
    """Return the two seeds of a random transformation as tensors. Two zeros stand for no seed.

    `seed` may be a tensor of int64. A zero that the step computes is nevertheless a seed.
    """
    first, second = (
        int64(0 if value is None else value, name)
        for value, name in zip(random_seed.get_seed(seed), ("seed", "seed2"), strict=True)
    )
    if isinstance(seed, graphs.Tensor):
        are_zero = raw.LogicalAnd(raw.Equal(first, 0), raw.Equal(second, 0))
        second = raw.Select(are_zero, np.int64(2**31 - 1), second)
    return first, second


def static(tensor: Any) -> Any:
    value = tensor.op.constant_value()
    return None if value is None else value.item()


def check_state(spec: Any, found: Any, name: str) -> None:
    """Check that a function of a state returns a state of the same structure and types.

    Raises:
        TypeError, ValueError: the types or the structures differ.
    """
    data_structure.check_same(spec, found)
    wanted, given = map(data_structure.types, (spec, found))
    if wanted != given:
        raise TypeError(
            f"The element types for the new state must match the initial state. Expected {wanted}; "
            f"got {given}."
        )


def relaxed(spec: Any, found: Any) -> Any:
    """Return `spec` with the most specific shapes that fit both structures."""
    others = iter(data_structure.flatten(found))

    def general(leaf: Any) -> Any:
        sizes = leaf.shape.internal, next(others).shape.internal
        return leaf.with_shape(tensor_shape.TensorShape(shapes.most_general(*sizes)))

    return data_structure.mapped(general, spec)
