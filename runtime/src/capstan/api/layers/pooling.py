"""`tf.layers`' pools (python/layers/pooling.py)."""

import abc
from typing import Any

from capstan.api import nn
from capstan.api.layers import base, common, convolutional, input_spec, plain_arguments
from capstan.framework.raw import raw


class CommonPooling2D(common.CommonLayer):
    def __init__(
        self,
        pool_size: Any,
        strides: Any,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        self.pool_size = plain_arguments.normalize_tuple(pool_size, 2, "pool_size")
        self.strides = plain_arguments.normalize_tuple(strides, 2, "strides")
        self.padding = str(padding).lower()
        self.data_format = data_format
        self.layout = "NCHW" if convolutional.is_first(data_format) else "NHWC"
        self.input_spec = input_spec.InputSpec(ndim=4)

    @abc.abstractmethod
    def pool(self, *arguments: Any) -> Any:
        """Return the pooled images. The arguments are those of the function of `tf.nn`."""

    def call(self, inputs: Any) -> Any:
        return self.pool(inputs, self.pool_size, self.strides, self.padding.upper(), self.layout)


class CommonMaxPooling2D(CommonPooling2D):
    """Takes the largest element of each window."""

    def pool(self, *arguments: Any) -> Any:
        return nn.max_pool(*arguments)


class CommonAveragePooling2D(CommonPooling2D):
    """Takes the mean of each window."""

    def pool(self, *arguments: Any) -> Any:
        return nn.avg_pool(*arguments)


class CommonPooling1D(common.CommonLayer):
    pool: Any = None

    def __init__(
        self,
        pool_size: Any,
        strides: Any,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        (self.pool_size,) = plain_arguments.normalize_tuple(pool_size, 1, "pool_size")
        (self.strides,) = plain_arguments.normalize_tuple(strides, 1, "strides")
        self.padding = str(padding).lower()
        self.data_format = data_format
        self.is_first = convolutional.is_first(data_format)
        self.input_spec = input_spec.InputSpec(ndim=3)

    def call(self, inputs: Any) -> Any:
        images = raw.ExpandDims(inputs, 2)
        layout = "NCHW" if self.is_first else "NHWC"
        # The axis of width 1 comes behind the sequence: [n, width, 1, c] or [n, c, 1, width].
        size, strides = (self.pool_size, 1), (self.strides, 1)
        if self.is_first:
            size, strides = size[::-1], strides[::-1]
        result = type(self).pool(images, size, strides, self.padding.upper(), layout)
        return raw.Squeeze(result, squeeze_dims=[2])


class CommonMaxPooling1D(CommonPooling1D):
    """Takes the largest element of each window of a sequence."""

    pool = staticmethod(nn.max_pool)


class CommonAveragePooling1D(CommonPooling1D):
    """Takes the mean of each window of a sequence."""

    pool = staticmethod(nn.avg_pool)


class MaxPooling1D(CommonMaxPooling1D, base.Layer):
    """Takes the largest element of each window of a sequence."""


class AveragePooling1D(CommonAveragePooling1D, base.Layer):
    """Takes the mean of each window of a sequence."""


class MaxPooling2D(CommonMaxPooling2D, base.Layer):
    """Takes the largest element of each window."""


class AveragePooling2D(CommonAveragePooling2D, base.Layer):
    """Takes the mean of each window."""


def max_pooling2d(
    inputs: Any,
    pool_size: Any,
    strides: Any,
    padding: str = "valid",
    data_format: str = "channels_last",
    name: str | None = None,
) -> Any:
    """Return the largest element of each window of the images."""
    return MaxPooling2D(pool_size, strides, padding, data_format, name).apply(inputs)


def average_pooling2d(
    inputs: Any,
    pool_size: Any,
    strides: Any,
    padding: str = "valid",
    data_format: str = "channels_last",
    name: str | None = None,
) -> Any:
    """Return the mean of each window of the images."""
    return AveragePooling2D(pool_size, strides, padding, data_format, name).apply(inputs)


def max_pooling1d(
    inputs: Any,
    pool_size: Any,
    strides: Any,
    padding: str = "valid",
    data_format: str = "channels_last",
    name: str | None = None,
) -> Any:
    """Return the largest element of each window of the sequences."""
    return MaxPooling1D(pool_size, strides, padding, data_format, name).apply(inputs)


def average_pooling1d(
    inputs: Any,
    pool_size: Any,
    strides: Any,
    padding: str = "valid",
    data_format: str = "channels_last",
    name: str | None = None,
) -> Any:
    """Return the mean of each window of the sequences."""
    return AveragePooling1D(pool_size, strides, padding, data_format, name).apply(inputs)
