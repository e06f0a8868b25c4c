"""The shapes of two kinds of distributions: of numbers, and of vectors.

`capstan.api.distributions` has one distribution in each module. Each derives from one of these.
"""

import functools
from typing import Any, ClassVar

from capstan.api import broadcast_ops, creation_ops
from capstan.api.distributions.distribution import Distribution
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert
from capstan.framework.raw import raw


class OfNumbers(Distribution):
    """A distribution whose events are numbers. Its parameters broadcast to the batch shape."""

    _shaped: ClassVar[tuple[str, ...]]
    """The properties, also arguments of the constructor, whose shapes make the batch shape."""

    @classmethod
    def _param_shapes(cls, sample_shape: Any) -> dict[str, Any]:
        return {name: convert.convert_to_tensor(sample_shape, dtypes.int32) for name in cls._shaped}

    def _shaping(self) -> list[Any]:
        return [getattr(self, name) for name in self._shaped]

    def _batch_shape(self) -> Any:
        shapes = [parameter.shape for parameter in self._shaping()]
        return functools.reduce(broadcast_ops.broadcast_static_shape, shapes)

    def _batch_shape_tensor(self) -> Any:
        sizes = [raw.Shape(parameter) for parameter in self._shaping()]
        return functools.reduce(broadcast_ops.broadcast_dynamic_shape, sizes)

    def _event_shape(self) -> Any:
        return tensor_shape.scalar()

    def _event_shape_tensor(self) -> Any:
        return convert.constant([], dtypes.int32)

    def _spread(self, statistic: Any) -> Any:
        """Return a statistic of some parameters with the batch shape."""
        for parameter in self._shaping():
            if parameter is not statistic:
                statistic = statistic * creation_ops.ones_like(parameter, statistic.dtype)
        return statistic

    def _drawn_shape(self, count: Any) -> Any:
        """Return the shape of `count` samples."""
        return raw.ConcatV2([[count], self.batch_shape_tensor()], 0)


class OfVectors(Distribution):
    """A distribution whose events are vectors. Its mean has the shape of one sample."""

    _whole: Any
    """A tensor of the shape `batch_shape + event_shape`."""

    def _batch_shape(self) -> Any:
        return self._whole.shape.with_rank_at_least(1)[:-1]

    def _batch_shape_tensor(self) -> Any:
        return raw.Shape(self._whole)[:-1]

    def _event_shape(self) -> Any:
        return self._whole.shape.with_rank_at_least(1)[-1:]

    def _event_shape_tensor(self) -> Any:
        return raw.Shape(self._whole)[-1:]


def negative_outer_product(columns: Any, rows: Any, diagonal: Any) -> Any:
    """Return matrices -columns * rows with another diagonal: covariances of vectors."""
    products = -raw.ExpandDims(columns, -1) * raw.ExpandDims(rows, -2)
    return raw.MatrixSetDiag(products, diagonal)
