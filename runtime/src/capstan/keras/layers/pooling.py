"""`tf.keras.layers` that pool (python/keras/layers/pooling.py)."""

from typing import Any

from capstan.api import math_ops, reduce_ops
from capstan.api.layers import input_spec, pooling, settings, volumes
from capstan.framework.raw import raw
from capstan.keras import built_in


def _arguments(given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a pool. Without `strides`, windows do not overlap."""
    arguments = built_in.resolved(given)
    arguments["data_format"] = settings.data_format(given["data_format"])
    if arguments["strides"] is None:
        arguments["strides"] = arguments["pool_size"]
    return arguments


class Pooling1D(pooling.CommonPooling1D, built_in.BuiltIn):
    """A pool of sequences [batch, steps, channels]."""

    def __init__(
        self,
        pool_size: Any = 2,
        strides: Any = None,
        padding: str = "valid",
        data_format: str | None = "channels_last",
        **kwargs: Any,
    ) -> None:
        super().__init__(**_arguments(locals()))


class Pooling2D(pooling.CommonPooling2D, built_in.BuiltIn):
    """A pool of images."""

    def __init__(
        self,
        pool_size: Any = (2, 2),
        strides: Any = None,
        padding: str = "valid",
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**_arguments(locals()))


class Pooling3D(volumes.CommonPooling3D, built_in.BuiltIn):
    """A pool of volumes."""

    def __init__(
        self,
        pool_size: Any = (2, 2, 2),
        strides: Any = None,
        padding: str = "valid",
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**_arguments(locals()))


class MaxPooling1D(Pooling1D, pooling.CommonMaxPooling1D):
    """Takes the largest element of each window of a sequence."""


class AveragePooling1D(Pooling1D, pooling.CommonAveragePooling1D):
    """Takes the mean of each window of a sequence."""


class MaxPooling2D(Pooling2D, pooling.CommonMaxPooling2D):
    """Takes the largest element of each window."""


class AveragePooling2D(Pooling2D, pooling.CommonAveragePooling2D):
    """Takes the mean of each window."""


class MaxPooling3D(Pooling3D, volumes.CommonMaxPooling3D):
    """Takes the largest element of each window."""


class AveragePooling3D(Pooling3D, volumes.CommonAveragePooling3D):
    """Takes the mean of each window."""


class GlobalPooling(built_in.BuiltIn):
    """Reduces the spatial axes of each example: the outputs are [batch, channels]."""

    rank = 2
    reduce: Any = None

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = settings.data_format(
            "channels_last" if self.rank == 1 and data_format is None else data_format
        )
        self.input_spec = input_spec.InputSpec(ndim=self.rank + 2)

    @property
    def _axes(self) -> list[int]:
        first = 2 if self.data_format == "channels_first" else 1
        return list(range(first, first + self.rank))

    def call(self, inputs: Any) -> Any:
        return type(self).reduce(inputs, axis=self._axes)


class GlobalMaxPooling1D(GlobalPooling):
    """Takes the largest element of each channel of a sequence."""

    rank = 1
    reduce = staticmethod(reduce_ops.reduce_max)


class GlobalMaxPooling2D(GlobalPooling):
    """Takes the largest element of each channel of an image."""

    reduce = staticmethod(reduce_ops.reduce_max)


class GlobalMaxPooling3D(GlobalPooling):
    """Takes the largest element of each channel of a volume."""

    rank = 3
    reduce = staticmethod(reduce_ops.reduce_max)


class GlobalAveragePooling1D(GlobalPooling):
    """Takes the mean of each channel of a sequence. Steps that the mask leaves out do not count."""

    rank = 1
    reduce = staticmethod(reduce_ops.reduce_mean)
    supports_masking = True

    def call(self, inputs: Any, mask: Any = None) -> Any:
        if mask is None:
            return super().call(inputs)
        channels = 1 if self.data_format == "channels_first" else 2
        counted = raw.ExpandDims(math_ops.cast(mask, inputs.dtype), channels)
        total = reduce_ops.reduce_sum(inputs * counted, axis=self._axes)
        return total / reduce_ops.reduce_sum(counted, axis=self._axes)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return None


class GlobalAveragePooling2D(GlobalPooling):
    """Takes the mean of each channel of an image."""

    reduce = staticmethod(reduce_ops.reduce_mean)


class GlobalAveragePooling3D(GlobalPooling):
    """Takes the mean of each channel of a volume."""

    rank = 3
    reduce = staticmethod(reduce_ops.reduce_mean)


MaxPool1D, AvgPool1D = MaxPooling1D, AveragePooling1D
MaxPool2D, AvgPool2D = MaxPooling2D, AveragePooling2D
MaxPool3D, AvgPool3D = MaxPooling3D, AveragePooling3D
GlobalMaxPool1D, GlobalAvgPool1D = GlobalMaxPooling1D, GlobalAveragePooling1D
GlobalMaxPool2D, GlobalAvgPool2D = GlobalMaxPooling2D, GlobalAveragePooling2D
GlobalMaxPool3D, GlobalAvgPool3D = GlobalMaxPooling3D, GlobalAveragePooling3D
