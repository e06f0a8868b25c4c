"""Sparse batches (core/kernels/data/experimental/dense_to_sparse_batch_dataset_op.cc)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from capstan import errors
from capstan.core import shapes
from capstan.core.arrays import Array
from capstan.resources import dataset, dataset_batch, tensor_variant
from capstan.resources.dataset import Element
from capstan.resources.dataset_run import Run


@dataclass(frozen=True, slots=True, eq=False)
class DenseToSparseBatch(dataset.Unary):
    """Sparse tensors of `size` elements, which have one component and may differ in shape.

    `row` is the shape of the rows. An unknown size becomes the largest size in the batch.
    """

    size: int
    row: tuple[int | None, ...]

    @property
    def may_block(self) -> bool:
        return self.source.may_block or self.size > dataset.MANY_ELEMENTS

    def start(self, run: Run) -> Iterator[Element]:
        source = self.source.start(run)
        return dataset_batch.Batches(source, self.size, self._sparse, run)

    def _sparse(self, rows: Sequence[Element]) -> Element:
        arrays: list[Array] = [np.asarray(value) for (value,) in rows]
        for array in arrays:
            self._check(array)
        places = [
            np.insert(np.argwhere(np.ones(array.shape, bool)), 0, row, axis=1)
            for row, array in enumerate(arrays)
        ]
        indices = np.concatenate(places).astype(np.int64)
        values = np.concatenate([array.ravel() for array in arrays])
        sizes = [
            max(array.shape[axis] for array in arrays) if size is None else size
            for axis, size in enumerate(self.row)
        ]
        parts = indices, values, np.array([len(rows), *sizes], np.int64)
        element = np.empty(3, object)
        element[:] = [tensor_variant.TensorVariant(part) for part in parts]
        return (element,)

    def _check(self, array: Array) -> None:
        if array.ndim != len(self.row):
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Input element had shape ({shapes.show(array.shape)}) that is incompatible with "
                f"the row shape ({shapes.show(self.row)}).",
            )
        for size, most in zip(array.shape, self.row, strict=True):
            if most is not None and size > most:
                raise errors.DataLossError(
                    None,
                    None,
                    f"Input element had shape ({shapes.show(array.shape)}) that is larger than "
                    f"the row shape ({shapes.show(self.row)}).",
                )
