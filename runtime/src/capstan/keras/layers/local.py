"""`tf.keras.layers` with a kernel of its own for each place (python/keras/layers/local.py)."""

import itertools
import math
from typing import Any

from capstan.api import array_ops, math_ops, sparse_math_ops
from capstan.api.layers import input_spec, plain_arguments, settings
from capstan.core import tensor_shape
from capstan.framework import sparse_tensor
from capstan.keras import built_in, tensor_layout
from capstan.keras.layers import connectivity


class LocallyConnected(built_in.BuiltIn):
    """A layer of `rank` spatial axes with other filters for each place."""

    rank = 1

    filters: int
    data_format: str
    use_bias: bool
    activation: Any
    implementation: int
    kernel_initializer: Any
    kernel_regularizer: Any
    kernel_constraint: Any
    bias_initializer: Any
    bias_regularizer: Any
    bias_constraint: Any

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = None,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        implementation: int = 1,
        **kwargs: Any,
    ) -> None:
        """Make a layer. `implementation` chooses the shape of the kernel.

        The kernel of implementation 1 has only the connected pairs of inputs and outputs, and that
        of 3 has them as a vector. That of 2 has all pairs, whose others a mask leaves out: it is
        fast for small layers. Only 2 and 3 have the padding "same".

        Raises:
            ValueError: the padding, the data format or the implementation is unknown or does not
                fit, or a size is wrong.
        """
        arguments = built_in.resolved({**locals(), "kwargs": {}})
        super().__init__(activity_regularizer=arguments.pop("activity_regularizer"), **kwargs)
        for name, value in arguments.items():
            setattr(self, name, value)
        self.kernel_size = plain_arguments.normalize_tuple(kernel_size, self.rank, "kernel_size")
        self.strides = plain_arguments.normalize_tuple(strides, self.rank, "strides")
        self.data_format = settings.data_format(data_format)
        self.padding = padding.lower()
        if self.padding not in ("valid", "same"):
            raise ValueError(f"The `padding` argument must be valid or same. Received: {padding}")
        if self.padding != "valid" and implementation == 1:
            raise ValueError(
                f'Invalid border mode for {type(self).__name__} (only "valid" is supported if '
                f"implementation is 1): {padding}"
            )
        if implementation not in (1, 2, 3):
            raise ValueError(f"Unrecognized implementation mode: {implementation}. Use 1, 2 or 3")
        self.input_spec = input_spec.InputSpec(ndim=self.rank + 2)
        self.kernel: Any = None
        self.bias: Any = None

    @property
    def _is_first(self) -> bool:
        return self.data_format == "channels_first"

    def build(self, input_shape: Any) -> None:
        """Create the kernel, and the bias of each place.

        The kernel of implementation 1 is [places, inputs of a place, filters].

        Raises:
            ValueError: a size of an example is unknown.
        """
        sizes: Any = tensor_shape.as_shape(input_shape).as_list()[1:]
        if None in sizes:
            raise ValueError(
                f"The spatial dimensions of the inputs to {self.name} should be fully-defined, but "
                f"layer received the inputs shape {input_shape}"
            )
        *lengths, depth = [*sizes[1:], sizes[0]] if self._is_first else sizes
        widths = zip(lengths, self.kernel_size, self.strides, strict=True)
        self._places = [connectivity.output_length(*each, self.padding) for each in widths]
        self.kernel = self.add_weight(
            "kernel",
            self._kernel_shape(lengths, depth),
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                (*self._places, self.filters),
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )
        axis = 1 if self._is_first else -1
        self.input_spec = input_spec.InputSpec(ndim=self.rank + 2, axes={axis: depth})
        self.built = True

    def _kernel_shape(self, lengths: list[int], depth: int) -> tuple[int, ...]:
        """Return the shape of the kernel. Remember which inputs reach which outputs."""
        if self.implementation == 1:
            return math.prod(self._places), math.prod(self.kernel_size) * depth, self.filters
        self._mask = connectivity.mask(
            lengths, self.kernel_size, self.strides, self.padding, self._is_first
        )
        if self.implementation == 3:
            self._pairs = connectivity.indices(self._mask, depth, self.filters, self._is_first)
            return (len(self._pairs),)
        if self._is_first:
            return (depth, *lengths, self.filters, *self._places)
        return (*lengths, depth, *self._places, self.filters)

    def call(self, inputs: Any) -> Any:
        outputs = self._local(inputs) if self.implementation == 1 else self._connected(inputs)
        if self.use_bias:
            outputs = tensor_layout.bias_add(outputs, self.bias, self.data_format)
        return outputs if self.activation is None else self.activation(outputs)

    def _connected(self, inputs: Any) -> Any:
        """Return the outputs of a product with a matrix of all inputs and outputs."""
        size = math.prod(inputs.shape.as_list()[1:])
        flat = array_ops.reshape(inputs, [-1, size])
        count = math.prod(self._places) * self.filters
        if self.implementation == 2:
            products = math_ops.matmul(
                flat, array_ops.reshape(self.kernel * self._mask, [size, count])
            )
        else:
            kernel = sparse_tensor.SparseTensor(self._pairs, self.kernel, [count, size])
            products = array_ops.transpose(
                sparse_math_ops.sparse_tensor_dense_matmul(kernel, flat, adjoint_b=True)
            )
        places = [self.filters, *self._places] if self._is_first else [*self._places, self.filters]
        return array_ops.reshape(products, [-1, *places])

    def _local(self, inputs: Any) -> Any:
        """Return the outputs of a product for each place."""
        last = [0, *range(2, self.rank + 2), 1]
        given = array_ops.transpose(inputs, last) if self._is_first else inputs
        # [places, examples, inputs of a place] times [places, inputs of a place, filters]
        products = math_ops.matmul(self._patches(given), self.kernel)
        outputs = array_ops.reshape(
            array_ops.transpose(products, [1, 0, 2]), [-1, *self._places, self.filters]
        )
        if self._is_first:
            outputs = array_ops.transpose(outputs, [0, self.rank + 1, *range(1, self.rank + 1)])
        return outputs

    def _patches(self, given: Any) -> Any:
        """Return the inputs of each place, [places, examples, inputs]. The channels are last."""
        parts = []
        for start in itertools.product(*map(range, self.kernel_size)):
            slices = [
                slice(first, first + stride * (count - 1) + 1, stride)
                for first, stride, count in zip(start, self.strides, self._places, strict=True)
            ]
            parts.append(given[(slice(None), *slices)])
        # The inputs of a place have the order of the axes of the layer's inputs.
        stacked = array_ops.stack(parts, axis=-1 if self._is_first else self.rank + 1)
        _, depth, _ = self.kernel.shape.as_list()
        flat = array_ops.reshape(stacked, [-1, math.prod(self._places), depth])
        return array_ops.transpose(flat, [1, 0, 2])


class LocallyConnected1D(LocallyConnected):
    """A convolution of sequences [batch, steps, channels] with other filters for each step."""


class LocallyConnected2D(LocallyConnected):
    """A convolution of images with other filters for each place."""

    rank = 2
