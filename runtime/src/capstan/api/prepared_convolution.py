"""`python.ops.nn_ops.Convolution`: a convolution whose options are given before its tensors."""

from typing import Any

from capstan.api import nn_convolution


class Convolution:
    """Convolves tensors of one shape. The arguments are those of `tf.nn.convolution`.

    `input_shape` and `filter_shape` are static shapes.

    Raises:
        ValueError: the ranks of both shapes are unknown.
    """

    def __init__(
        self,
        input_shape: Any,
        filter_shape: Any,
        padding: Any,
        strides: Any = None,
        dilation_rate: Any = None,
        name: str | None = None,
        data_format: str | None = None,
    ) -> None:
        if filter_shape.ndims is None and input_shape.ndims is None:
            raise ValueError("rank of input or filter must be known")
        self.input_shape = input_shape
        self.filter_shape = filter_shape
        self.padding = padding
        self.strides = strides
        self.dilation_rate = dilation_rate
        self.name = name
        self.data_format = data_format

    def __call__(self, inp: Any, filter: Any) -> Any:
        """Return the convolution of `inp` with `filter`."""
        return nn_convolution.convolution(
            inp, filter, self.padding, self.strides, self.dilation_rate, self.name, self.data_format
        )
