"""The methods of `tf.data.Dataset` that combine elements (python/data/ops/dataset_ops.py)."""

from typing import Any

from capstan.api import data_base, data_padding, data_structure
from capstan.core import dtypes
from capstan.framework import convert


class Batching(data_base.Base):
    """The transformations that combine elements, or take them apart."""

    def batch(self, batch_size: Any, drop_remainder: Any = False) -> Any:
        """Stack `batch_size` consecutive elements along a new axis 0.

        The last batch is smaller if elements are missing. With `drop_remainder`, it is dropped, and
        the static size of axis 0 is `batch_size` if that is a number. The elements of a batch must
        have the same shape, or the step raises InvalidArgumentError.

        Raises:
            TypeError: `batch_size` is not an integer.
        """
        size = data_base.int64(batch_size, "batch_size")
        drop = convert.convert_to_tensor(drop_remainder, dtypes.bool_, name="drop_remainder")
        count = data_base.static(size) if data_base.static(drop) else None
        spec = data_structure.mapped(lambda leaf: leaf.batched(count), self._spec)
        return self._unary("BatchDatasetV2", size, drop, spec=spec)

    def padded_batch(
        self,
        batch_size: Any,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: Any = False,
    ) -> Any:
        """Stack elements as `batch` does, after padding each component to one shape.

        `padded_shapes` has the structure of an element. An unknown size becomes the largest size
        in the batch. `padding_values` are scalars: by default 0 and empty strings.
        """
        return self._of(
            *data_padding.padded_batch(
                self, batch_size, padded_shapes, padding_values, drop_remainder
            )
        )

    def window(
        self, size: Any, shift: Any = None, stride: Any = 1, drop_remainder: Any = False
    ) -> Any:
        """Return windows: datasets of `size` elements, one dataset for each component.

        A window begins `shift` elements (by default `size`) after the previous window, and
        takes every `stride`-th element.
        """
        spec = data_structure.mapped(data_base.DatasetSpec, self._spec)
        return self._unary(
            "WindowDataset",
            data_base.int64(size, "size"),
            data_base.int64(size if shift is None else shift, "shift"),
            data_base.int64(stride, "stride"),
            convert.convert_to_tensor(drop_remainder, dtypes.bool_, name="drop_remainder"),
            spec=spec,
        )

    def unbatch(self) -> Any:
        """Return the slices of each component along axis 0 as elements.

        Raises:
            ValueError: the components are known to have different sizes along axis 0.
        """
        sizes = {
            leaf.packed_shape[0].value
            for leaf in data_structure.flatten(self._spec)
            if leaf.packed_type is not dtypes.variant and leaf.packed_shape.ndims
        }
        if len(sizes - {None}) > 1:
            raise ValueError(
                "Cannot unbatch an input whose components have different batch sizes: "
                f"{self.output_shapes}"
            )
        spec = data_structure.mapped(lambda leaf: leaf.sliced(), self._spec)
        if any(leaf.packed_type is dtypes.variant for leaf in data_structure.flatten(spec)):
            rows = self._of(self._variant_tensor, self._spec).map(
                lambda *element: tuple(
                    data_structure.stacked_tensors(element[0] if len(element) == 1 else element)
                )
            )
            return rows._unary("UnbatchDataset", spec=spec)
        return self._unary("UnbatchDataset", spec=spec)
