"""The batch normalization of `tf.layers` and of `tf.keras.layers`."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from capstan.api import (
    array_ops,
    distribution_strategy,
    init_ops,
    math_ops,
    nn,
    nn_normalization,
    smart_cond,
    state_ops,
    variable_replicas,
)
from capstan.api.layers import averages, batch_axes, common, input_spec, renormalization
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


class CommonBatchNormalization(common.CommonLayer):
    """Normalizes the activations of a batch to mean 0 and variance 1, along all axes but `axis`.

    During training the moments are those of the batch, and the layer keeps their moving averages.
    Otherwise the moving averages are the moments. `axis` may be a list of axes. With
    `virtual_batch_size`, each part of a batch has moments of its own. `renorm` corrects the
    activations by averages of moments, with the limits `renorm_clipping`. `adjustment(shape)`
    returns a factor and an addend for normalized activations in training.
    """

    def __init__(
        self,
        axis: Any = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = init_ops.Zeros,
        gamma_initializer: Any = init_ops.Ones,
        moving_mean_initializer: Any = init_ops.Zeros,
        moving_variance_initializer: Any = init_ops.Ones,
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        renorm: bool = False,
        renorm_clipping: Any = None,
        renorm_momentum: float = 0.99,
        fused: bool | None = None,
        trainable: bool = True,
        virtual_batch_size: int | None = None,
        adjustment: Any = None,
        name: Any = None,
        **kwargs: Any,
    ) -> None:
        """Raises ValueError if `renorm_clipping` has a key besides rmax, rmin and dmax."""
        super().__init__(trainable, name, **kwargs)
        self.axis = list(axis) if isinstance(axis, Sequence) and len(axis) > 1 else axis
        if isinstance(axis, Sequence) and len(axis) == 1:
            (self.axis,) = axis
        self.renorm, self.renorm_momentum = renorm, renorm_momentum
        self.renorm_clipping = renorm_clipping or {}
        renormalization.check(self.renorm_clipping)
        self.virtual_batch_size, self.adjustment = virtual_batch_size, adjustment
        self.momentum = momentum
        self.epsilon = epsilon
        self.center = center
        self.scale = scale
        self.beta_initializer = beta_initializer
        self.gamma_initializer = gamma_initializer
        self.moving_mean_initializer = moving_mean_initializer
        self.moving_variance_initializer = moving_variance_initializer
        self.beta_regularizer = beta_regularizer
        self.gamma_regularizer = gamma_regularizer
        self.beta_constraint = beta_constraint
        self.gamma_constraint = gamma_constraint
        self.fused = fused
        self.gamma: Any = None
        self.beta: Any = None
        self.moving_mean: Any = None
        self.moving_variance: Any = None
        self.moving_stddev: Any = None
        self._axes: list[int] = []

    def build(self, input_shape: Any) -> None:
        shape = tensor_shape.as_shape(input_shape)
        rank = shape.ndims
        if not rank:
            raise ValueError(f"Input has undefined rank: {shape}")
        kept = [self.axis] if isinstance(self.axis, int) else self.axis
        sizes = batch_axes.sizes(shape, kept, self.virtual_batch_size, self.adjustment)
        self._axes = list(sizes)
        is_plain = len(sizes) == 1 and self.virtual_batch_size is None
        if isinstance(self.axis, int):
            self.axis %= rank
        can_fuse = is_plain and not self.renorm and self.adjustment is None
        self.fused = self.fused is not False and can_fuse and rank == 4 and self.axis in (1, 3)
        self.input_spec = input_spec.InputSpec(ndim=rank, axes=sizes)
        kind = self._dtype
        if kind in (dtypes.float16, dtypes.bfloat16):
            kind = dtypes.float32
        parameters: tuple[Any, ...] = tuple(sizes.values())
        if not is_plain:
            parameters = tuple(sizes.get(axis, 1) for axis in range(rank))
        if self.virtual_batch_size is not None:
            # The batch has two axes, and the second is that of its parts.
            parameters = (parameters[0], 1, *parameters[1:])
            self._axes = [axis + 1 for axis in self._axes]
        if self.scale:
            self.gamma = self.add_weight(
                "gamma", parameters, kind, self.gamma_initializer, self.gamma_regularizer,
                constraint=self.gamma_constraint,
            )  # fmt: skip
        if self.center:
            self.beta = self.add_weight(
                "beta", parameters, kind, self.beta_initializer, self.beta_regularizer,
                constraint=self.beta_constraint,
            )  # fmt: skip
        with self._without_partitioner():
            self._add_averages(parameters, kind)
        self.built = True

    def _add_averages(self, shape: tuple[Any, ...], kind: Any) -> None:
        def deviation(shape: Any, dtype: Any = None, **options: Any) -> Any:
            make = self.moving_variance_initializer
            made = make() if isinstance(make, type) else make
            return math_ops.sqrt(made(shape, dtype=dtype))

        initializers = {
            "moving_mean": self.moving_mean_initializer,
            "moving_variance": self.moving_variance_initializer,
        }
        if self.renorm:
            initializers |= {
                "moving_stddev": deviation,
                "renorm_mean": self.moving_mean_initializer,
                "renorm_stddev": deviation,
            }
        for name, initializer in initializers.items():
            average = self.add_weight(
                name,
                shape,
                kind,
                initializer,
                trainable=False,
                synchronization=variable_replicas.VariableSynchronization.ON_READ,
                aggregation=variable_replicas.VariableAggregation.MEAN,
            )
            setattr(self, name, average)

    def _without_partitioner(self) -> AbstractContextManager[None]:
        """Return a block in which the variables of the layer are not cut. Averages move whole."""
        return nullcontext()

    def call(self, inputs: Any, training: Any = False) -> Any:
        normalize = self._fused if self.fused else self._plain
        outputs, mean, variance = normalize(inputs, training)
        if mean is not None:
            momentum = smart_cond.smart_cond(
                training, *averages.choices(training, self.momentum, 1.0)
            )
            self.add_update(averages.moved(self.moving_mean, mean, momentum))
            if self.renorm:
                self.add_update(self._deviated(variance, training, momentum))
            else:
                self.add_update(averages.moved(self.moving_variance, variance, momentum))
        return outputs

    def _deviated(self, variance: Any, training: Any, momentum: Any) -> Any:
        """Return the operation that moves the average deviation, and sets the variance to it."""
        deviation = math_ops.sqrt(variance + self.epsilon)
        moved = averages.moved(self.moving_stddev, deviation, momentum)
        with graphs.get_default_graph().control_dependencies([moved]):
            average = self.moving_stddev.read_value()
        value = smart_cond.smart_cond(
            training,
            lambda: nn.relu(average * average - self.epsilon),
            lambda: raw.Identity(self.moving_variance),
        )
        return state_ops.assign(self.moving_variance, value)

    def _fused(self, inputs: Any, training: Any) -> Any:
        layout = "NCHW" if self.axis == 1 else "NHWC"
        size = inputs.shape.as_list()[self.axis]
        kind = self.moving_mean.dtype.base_dtype
        scale = convert.constant(1.0, kind, shape=[size]) if self.gamma is None else self.gamma
        offset = convert.constant(0.0, kind, shape=[size]) if self.beta is None else self.beta

        def trained() -> Any:
            return nn_normalization.fused_batch_norm(
                inputs, scale, offset, epsilon=self.epsilon, data_format=layout
            )

        def applied() -> Any:
            outputs, _, _ = nn_normalization.fused_batch_norm(
                inputs, scale, offset, self.moving_mean, self.moving_variance, self.epsilon,
                layout, is_training=False,
            )  # fmt: skip
            return outputs, raw.Identity(self.moving_mean), raw.Identity(self.moving_variance)

        outputs, mean, variance = smart_cond.smart_cond(training, trained, applied)
        if averages.is_python(training) and not training:
            return outputs, None, None
        return outputs, *self._of_examples(inputs, mean, variance)

    def _plain(self, inputs: Any, training: Any) -> Any:
        if self.virtual_batch_size is None:
            outputs, mean, variance = self._normalized(inputs, training)
        else:
            rest = inputs.shape.as_list()[1:]
            parts = array_ops.reshape(inputs, [self.virtual_batch_size, -1, *rest])
            outputs, mean, variance = self._normalized(parts, training)
            outputs = array_ops.reshape(outputs, [-1, *rest])
        outputs.set_shape(inputs.shape)
        return outputs, mean, variance

    def _normalized(self, inputs: Any, training: Any) -> Any:
        rank = inputs.shape.ndims
        scale, offset = self._along(self.gamma, rank), self._along(self.beta, rank)
        mean, variance = self.moving_mean, self.moving_variance
        moments: tuple[Any, Any] = (None, None)
        if not averages.is_python(training) or training:
            if self.adjustment is not None:
                adjusted = batch_axes.adjusted(self.adjustment, inputs, training)
                scale, offset = batch_axes.composed(*adjusted, scale, offset)
            found = self._of_examples(inputs, *self._moments(inputs))
            moments = mean, variance = smart_cond.smart_cond(
                training,
                lambda: found,
                lambda: (raw.Identity(self.moving_mean), raw.Identity(self.moving_variance)),
            )
            if self.virtual_batch_size is not None:
                moments = batch_axes.of_parts(mean), batch_axes.of_parts(variance)
            if self.renorm:
                momentum = smart_cond.smart_cond(
                    training, *averages.choices(training, self.renorm_momentum, 1.0)
                )
                factor, addend, *moments = renormalization.corrected(  # type: ignore[assignment]
                    self, *moments, training, momentum
                )
                first = self._along(factor, rank), self._along(addend, rank)
                scale, offset = batch_axes.composed(*first, scale, offset)
        given = (self._along(mean, rank), self._along(variance, rank), offset, scale)
        mean, variance, offset, scale = (_cast(each, inputs.dtype.base_dtype) for each in given)
        outputs = nn.batch_normalization(inputs, mean, variance, offset, scale, self.epsilon)
        return outputs, *moments

    def _moments(self, inputs: Any) -> Any:
        axes = [axis for axis in range(inputs.shape.ndims) if axis not in self._axes]
        is_virtual = self.virtual_batch_size is not None
        if is_virtual:
            del axes[1]  # Each part of the batch has moments of its own.
        # Sums of squares of half precision would soon be infinite.
        inputs = _cast(inputs, self.moving_mean.dtype.base_dtype)
        return nn.moments(inputs, axes, keep_dims=is_virtual or len(self._axes) > 1)

    def _of_examples(self, inputs: Any, mean: Any, variance: Any) -> tuple[Any, Any]:
        """Return moments of a batch, or the moving averages for a replica that has no example.

        The moments of nothing are NaN, and would spread to the weights of all replicas.
        """
        is_replica = distribution_strategy.get_strategy().num_replicas_in_sync > 1
        if not is_replica or inputs.shape.is_fully_defined():
            return mean, variance
        is_any = raw.Greater(raw.Size(inputs), 0)
        return (
            raw.SelectV2(is_any, mean, self.moving_mean),
            raw.SelectV2(is_any, variance, self.moving_variance),
        )

    def _along(self, vector: Any, rank: int) -> Any:
        """Return a vector in a shape that broadcasts along the axis of the layer."""
        if vector is None or vector.shape.ndims == rank or self._axes == [rank - 1]:
            return vector
        return raw.Reshape(vector, [-1 if axis in self._axes else 1 for axis in range(rank)])


def _cast(value: Any, dtype: dtypes.DType) -> Any:
    """Return a tensor or a variable in a type, or None for None."""
    is_so = value is None or value.dtype.base_dtype is dtype
    return value if is_so else math_ops.cast(value, dtype)
