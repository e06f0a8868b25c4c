"""The datasets that hold their elements, and ranges (core/kernels/data/tensor_dataset_op.cc)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from capstan.core import dtypes, shapes
from capstan.resources import dataset, elements
from capstan.resources.dataset import Block, Element, Spec
from capstan.resources.dataset_run import Run


@dataclass(frozen=True, slots=True, eq=False)
class Tensors(dataset.Dataset):
    """One element."""

    spec: Spec
    components: Element

    def start(self, run: Run) -> Iterator[Element]:
        return iter((self.components,))


@dataclass(frozen=True, slots=True, eq=False)
class Slices(dataset.Dataset):
    """The slices of tensors along axis 0, which has the same size in all of them."""

    spec: Spec
    components: tuple[Any, ...]

    def start(self, run: Run) -> Iterator[Element]:
        # The elements of a vector of handles are objects, which stand for scalars.
        return zip(
            *[
                iter(component) if dtype is dtypes.resource else slices(component)
                for dtype, component in zip(self.spec.types, self.components, strict=True)
            ],
            strict=True,
        )

    def blocks(self, run: Run, size: int) -> Iterator[Block]:
        count = len(self.components[0])
        return (
            tuple(component[start : start + size] for component in self.components)
            for start in range(0, count, size)
        )


@dataclass(frozen=True, slots=True, eq=False)
class Range(dataset.Dataset):
    """The integers from `values`, as scalars of the type of the component."""

    spec: Spec
    values: range

    def start(self, run: Run) -> Iterator[Element]:
        return zip(map(self.spec.types[0].as_numpy_dtype, self.values), strict=True)

    def blocks(self, run: Run, size: int) -> Iterator[Block]:
        kind: Any = self.spec.types[0].as_numpy_dtype
        step: Any = self.values.step
        pieces = (self.values[start : start + size] for start in range(0, len(self.values), size))
        return ((np.arange(each.start, each.stop, step, dtype=kind),) for each in pieces)


def slices(component: Any) -> Iterator[Any]:
    """Return the slices of a tensor along axis 0, as values of elements."""
    if component.dtype == object and component.ndim == 1:
        return map(elements.scalar, component)
    return iter(component)


def sliced(shape: shapes.Shape) -> shapes.Shape:
    """Return the shape of the slices of a tensor along axis 0."""
    return None if shape is None else tuple(shape[1:])


def sizes(components: Sequence[Any]) -> list[int]:
    """Return the sizes of the tensors along axis 0."""
    return [component.shape[0] for component in components]
