"""`tf.keras.layers`: dense layers, dropout, and layers that change shapes
(python/keras/layers/core.py).
"""

from typing import Any

import numpy as np

from capstan.api import array_ops, logic_ops, math_ops, reduce_ops
from capstan.api.layers import context, core, input_spec, settings
from capstan.framework.raw import raw
from capstan.keras import activations, built_in, learning, regularizers


class Dense(core.CommonDense, built_in.BuiltIn):
    """A fully connected layer: activation(inputs * kernel + bias), along the last axis."""

    def __init__(
        self,
        units: int,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        """Make a layer. `input_dim` is the size of the only axis of `input_shape`."""
        if "input_dim" in kwargs:
            kwargs["input_shape"] = (kwargs.pop("input_dim"),)
        super().__init__(**built_in.resolved(locals()))


class Dropout(core.CommonDropout, built_in.BuiltIn):
    """Sets random elements to 0 during training, and scales the others up.

    Without `training`, the learning phase decides.
    """

    def __init__(
        self, rate: Any, noise_shape: Any = None, seed: int | None = None, **kwargs: Any
    ) -> None:
        super().__init__(rate, noise_shape, seed, **kwargs)

    def call(self, inputs: Any, training: Any = None) -> Any:
        phase = learning.learning_phase() if training is None else training
        shape = self._noise_shape(inputs)
        kept, self.noise_shape = self.noise_shape, shape
        try:
            return super().call(inputs, phase)
        finally:
            self.noise_shape = kept

    def _noise_shape(self, inputs: Any) -> Any:
        """Return the shape of the random numbers. None stands for a size of the inputs."""
        if self.noise_shape is None or all(size is not None for size in self.noise_shape):
            return self.noise_shape
        sizes = array_ops.unstack(raw.Shape(inputs), num=len(self.noise_shape))
        return [
            own if own is not None else size
            for own, size in zip(self.noise_shape, sizes, strict=True)
        ]


class SpatialDropout(Dropout):
    """Sets random channels to 0 during training, for all positions of an example."""

    def __init__(self, rate: Any, rank: int, data_format: str | None, **kwargs: Any) -> None:
        super().__init__(rate, **kwargs)
        self.data_format = settings.data_format(data_format)
        self.input_spec = input_spec.InputSpec(ndim=rank)

    def _noise_shape(self, inputs: Any) -> Any:
        sizes, rank = raw.Shape(inputs), inputs.shape.ndims
        if self.data_format == "channels_first":
            return [sizes[0], sizes[1], *[1] * (rank - 2)]
        return [sizes[0], *[1] * (rank - 2), sizes[rank - 1]]


class SpatialDropout1D(SpatialDropout):
    """Sets random channels of sequences [batch, steps, channels] to 0 during training."""

    def __init__(self, rate: Any, **kwargs: Any) -> None:
        super().__init__(rate, 3, "channels_last", **kwargs)


class SpatialDropout2D(SpatialDropout):
    """Sets random channels of images to 0 during training."""

    def __init__(self, rate: Any, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(rate, 4, data_format, **kwargs)


class SpatialDropout3D(SpatialDropout):
    """Sets random channels of volumes to 0 during training."""

    def __init__(self, rate: Any, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(rate, 5, data_format, **kwargs)


class Flatten(core.CommonFlatten, built_in.BuiltIn):
    """Reshapes each example into a vector."""

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(settings.data_format(data_format), **kwargs)


class Activation(built_in.BuiltIn):
    """Applies a function, which may be given by its name."""

    supports_masking = True

    def __init__(self, activation: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.activation = activations.get(activation)

    def call(self, inputs: Any) -> Any:
        return self.activation(inputs)


class Reshape(built_in.BuiltIn):
    """Gives each example the shape `target_shape`. One size may be -1."""

    def __init__(self, target_shape: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.target_shape = tuple(target_shape)

    def call(self, inputs: Any) -> Any:
        """Raises ValueError if an example has another number of elements."""
        sizes = inputs.shape.as_list()
        shape = [*sizes[:1], *_known_sizes(sizes[1:], self.target_shape)]
        outputs = raw.Reshape(inputs, array_ops.stack([raw.Shape(inputs)[0], *self.target_shape]))
        outputs.set_shape(shape)
        return outputs


def _known_sizes(sizes: list[int | None], target: tuple[int, ...]) -> list[int | None]:
    """Return the sizes of an example behind `Reshape`."""
    rest = int(np.prod([size for size in target if size != -1]))
    if None in sizes:
        return [None if size == -1 else size for size in target]
    total = int(np.prod([size for size in sizes if size is not None]))
    fits = total % rest == 0 if -1 in target else total == rest
    if not fits or target.count(-1) > 1:
        raise ValueError(
            f"total size of new array must be unchanged: the shape {sizes} of an example cannot "
            f"become {list(target)}"
        )
    return [total // rest if size == -1 else size for size in target]


class Permute(built_in.BuiltIn):
    """Orders the axes of each example. `dims` holds the old axes; the first is 1."""

    def __init__(self, dims: Any, **kwargs: Any) -> None:
        """Raises ValueError if `dims` does not hold each axis once."""
        super().__init__(**kwargs)
        self.dims = tuple(dims)
        if sorted(self.dims) != list(range(1, len(self.dims) + 1)):
            raise ValueError(
                f"Invalid permutation `dims` for Permute Layer: {dims}. The set of indices in "
                "`dims` must be consecutive and start from 1."
            )
        self.input_spec = input_spec.InputSpec(ndim=len(self.dims) + 1)

    def call(self, inputs: Any) -> Any:
        return array_ops.transpose(inputs, perm=(0, *self.dims))


class RepeatVector(built_in.BuiltIn):
    """Repeats each vector: [batch, features] becomes [batch, n, features]."""

    def __init__(self, n: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.n = n
        self.input_spec = input_spec.InputSpec(ndim=2)

    def call(self, inputs: Any) -> Any:
        return raw.Tile(raw.ExpandDims(inputs, 1), [1, self.n, 1])


class Masking(built_in.BuiltIn):
    """Masks the steps of a sequence whose features are all `mask_value`, and sets them to 0."""

    supports_masking = True

    def __init__(self, mask_value: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.mask_value = mask_value

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return reduce_ops.reduce_any(logic_ops.not_equal(inputs, self.mask_value), axis=-1)

    def call(self, inputs: Any) -> Any:
        kept = reduce_ops.reduce_any(
            logic_ops.not_equal(inputs, self.mask_value), axis=-1, keepdims=True
        )
        outputs = inputs * math_ops.cast(kept, inputs.dtype)
        context.of().masks[outputs] = array_ops.squeeze(kept, axis=-1)
        return outputs


class ActivityRegularization(built_in.BuiltIn):
    """Returns its inputs, and adds `l1` and `l2` losses of them."""

    supports_masking = True

    def __init__(self, l1: float = 0.0, l2: float = 0.0, **kwargs: Any) -> None:
        super().__init__(activity_regularizer=regularizers.L1L2(l1=l1, l2=l2), **kwargs)
        self.l1 = l1
        self.l2 = l2
