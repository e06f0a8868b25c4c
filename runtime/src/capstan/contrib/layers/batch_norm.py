"""`batch_norm` (contrib/layers/python/layers/layers.py).

The variables are `beta`, `gamma`, `moving_mean` and `moving_variance` in the scope of the layer.
"""

from collections.abc import Mapping
from typing import Any

from capstan.api import init_ops, nn, nn_normalization, reduce_ops, scope_block, smart_cond
from capstan.api.layers import normalization
from capstan.contrib.framework import argument_scopes, variables
from capstan.contrib.layers import collecting
from capstan.framework import collections, convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw
from capstan.train import moving_averages

_UPDATES = collections.GraphKeys.UPDATE_OPS
_START: Mapping[str, Any] = {
    "beta": init_ops.Zeros, "gamma": init_ops.Ones,
    "moving_mean": init_ops.Zeros, "moving_variance": init_ops.Ones,
}  # fmt: skip


@argument_scopes.add_arg_scope
def batch_norm(
    inputs: Any,
    decay: float = 0.999,
    center: bool = True,
    scale: bool = False,
    epsilon: float = 0.001,
    activation_fn: Any = None,
    param_initializers: Any = None,
    param_regularizers: Any = None,
    updates_collections: Any = _UPDATES,
    is_training: Any = True,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    batch_weights: Any = None,
    fused: bool | None = None,
    data_format: str = "NHWC",
    zero_debias_moving_mean: bool = False,
    scope: Any = None,
    renorm: bool = False,
    renorm_clipping: Any = None,
    renorm_decay: float = 0.99,
    adjustment: Any = None,
) -> Any:
    """Normalize each channel of a batch to mean 0 and variance 1.

    During training the moments are those of the batch, and the layer keeps their moving averages.
    Otherwise the moving averages are the moments. The operations that update the averages are in
    `updates_collections`. If that is None, the outputs wait for the updates.

    `renorm`, `renorm_clipping`, `renorm_decay` and `adjustment` have the meaning that they have for
    `tf.layers.batch_normalization`.

    Raises:
        ValueError: the rank or the number of channels is unknown, or `renorm` or `adjustment` is
            given with `batch_weights`, `updates_collections` or `zero_debias_moving_mean`.
    """
    if data_format not in ("NCHW", "NHWC"):
        raise ValueError("data_format has to be either NCHW or NHWC.")
    inputs = convert.convert_to_tensor(inputs)
    if inputs.shape.ndims is None:
        raise ValueError(f"Inputs {inputs.name} has undefined rank.")
    is_fused = fused is not False and batch_weights is None and inputs.shape.ndims in (2, 4)
    is_special = batch_weights is not None or zero_debias_moving_mean
    is_special = is_special or updates_collections != _UPDATES
    is_corrected = renorm or adjustment is not None
    if is_special and is_corrected:
        raise ValueError(
            "renorm and adjustment are not supported with batch_weights, updates_collections or "
            "zero_debias_moving_mean"
        )
    with scope_block.variable_scope(
        scope, "BatchNorm", [inputs], reuse=reuse, custom_getter=collecting.renaming()
    ) as block:
        parameters = param_initializers or {}, param_regularizers or {}, variables_collections
        if is_special or (is_fused and inputs.shape.ndims == 2 and not is_corrected):
            layer = _Normalizer(inputs, center, scale, epsilon, data_format, *parameters, trainable)
            normalize = layer.fused if is_fused else layer.plain
            outputs = normalize(
                is_training, decay, updates_collections, zero_debias_moving_mean, batch_weights
            )
        else:
            outputs = _by_layer(
                inputs, is_training, data_format, *parameters, momentum=decay, epsilon=epsilon,
                center=center, scale=scale, fused=fused, renorm=renorm,
                renorm_clipping=renorm_clipping, renorm_momentum=renorm_decay,
                adjustment=adjustment, trainable=trainable, name=block.name, _scope=block,
                _reuse=reuse,
            )  # fmt: skip
        return collecting.finished(outputs, activation_fn, outputs_collections, block.name)


def _by_layer(
    inputs: Any, is_training: Any, layout: str, initializers: Mapping[str, Any],
    regularizers: Mapping[str, Any], keys: Any, **options: Any,
) -> Any:  # fmt: skip
    """Normalize with a layer of `tf.layers`, and collect its variables."""
    starts = {f"{name}_initializer": initializers.get(name, _START[name]) for name in _START}
    layer = normalization.BatchNormalization(
        1 if layout == "NCHW" else -1, **starts, beta_regularizer=regularizers.get("beta"),
        gamma_regularizer=regularizers.get("gamma"), **options,
    )  # fmt: skip
    outputs = layer.apply(inputs, training=is_training)
    collecting.collect_variables(
        keys, beta=layer.beta, gamma=layer.gamma, moving_mean=layer.moving_mean,
        moving_variance=layer.moving_variance,
    )  # fmt: skip
    return outputs


class _Normalizer:
    """The variables of `batch_norm`, and the cases that `tf.layers` does not have."""

    def __init__(
        self, inputs: Any, center: bool, scale: bool, epsilon: float, layout: str,
        initializers: Mapping[str, Any], regularizers: Mapping[str, Any], keys: Any,
        trainable: bool,
    ) -> None:  # fmt: skip
        self._inputs = inputs
        self._epsilon = epsilon
        self._layout = layout
        rank = inputs.shape.ndims
        self._axis = 1 if layout == "NCHW" else rank - 1
        self._channels = inputs.shape.as_list()[self._axis]
        if self._channels is None:
            raise ValueError(f"Inputs {inputs.name} has undefined channels dimension.")

        def made(name: str, is_trained: bool) -> Any:
            return variables.model_variable(
                name, [self._channels], initializer=initializers.get(name, _START[name]),
                regularizer=regularizers.get(name) if is_trained else None,
                trainable=is_trained and trainable,
                collections=collecting.collections_for(keys, name),
            )  # fmt: skip

        self.beta = made("beta", True) if center else None
        self.gamma = made("gamma", True) if scale else None
        self.moving_mean = made("moving_mean", False)
        self.moving_variance = made("moving_variance", False)

    def fused(self, training: Any, decay: float, keys: Any, zero_debias: bool, weights: Any) -> Any:
        """Normalize images, or a matrix as images of one pixel."""
        images, first = self._inputs, self._layout == "NCHW"
        if images.shape.ndims == 2:
            size = self._channels
            images = raw.Reshape(images, [-1, size, 1, 1] if first else [-1, 1, 1, size])
        ones = convert.constant(1.0, shape=[self._channels])
        scale = ones if self.gamma is None else self.gamma
        offset = raw.ZerosLike(ones) if self.beta is None else self.beta

        def trained() -> Any:
            return nn_normalization.fused_batch_norm(
                images, scale, offset, epsilon=self._epsilon, data_format=self._layout
            )

        def applied() -> Any:
            return nn_normalization.fused_batch_norm(
                images, scale, offset, self.moving_mean, self.moving_variance, self._epsilon,
                self._layout, is_training=False,
            )  # fmt: skip

        outputs, mean, variance = smart_cond.smart_cond(training, trained, applied)
        gate = self._updated(training, (mean, variance), decay, keys, zero_debias)
        outputs = gate(outputs)
        outputs = raw.Reshape(outputs, raw.Shape(self._inputs))
        outputs.set_shape(self._inputs.shape)
        return outputs

    def plain(self, training: Any, decay: float, keys: Any, zero_debias: bool, weights: Any) -> Any:
        """Normalize inputs of any rank, with moments that may be weighted."""
        rank = self._inputs.shape.ndims
        axes = [axis for axis in range(rank) if axis != self._axis]
        kept = self.moving_mean, self.moving_variance
        moments: Any = kept
        if _constant(training) is not False:
            found = _moments(self._inputs, axes, weights)
            gate = self._updated(training, found, decay, keys, zero_debias)
            moments = smart_cond.smart_cond(
                training,
                lambda: tuple(gate(moment) for moment in found),
                lambda: tuple(raw.Identity(average) for average in kept),
            )
        mean, variance = (self._along(moment) for moment in moments)
        offset, factor = self._along(self.beta), self._along(self.gamma)
        outputs = nn.batch_normalization(
            self._inputs, mean, variance, offset, factor, self._epsilon
        )
        outputs.set_shape(self._inputs.shape)
        return outputs

    def _along(self, vector: Any) -> Any:
        """Return a vector in a shape that broadcasts along the axis of the channels."""
        rank = self._inputs.shape.ndims
        if vector is None or self._axis == rank - 1:
            return vector
        return raw.Reshape(vector, [-1 if axis == self._axis else 1 for axis in range(rank)])

    def _updated(
        self, training: Any, moments: Any, decay: float, keys: Any, zero_debias: bool
    ) -> Any:
        """Update the averages during training. Return a function that outputs go through."""
        if _constant(training) is False:
            return lambda value: value
        averages = self.moving_mean, self.moving_variance

        def moved() -> list[Any]:
            mean, variance = moments
            assign = moving_averages.assign_moving_average
            return [
                assign(self.moving_mean, mean, decay, zero_debias=zero_debias),
                assign(self.moving_variance, variance, decay, zero_debias=False),
            ]

        updates = smart_cond.smart_cond(
            training, moved, lambda: [raw.Identity(average) for average in averages]
        )
        graph = graphs.get_default_graph()
        if keys is not None:
            for update in updates:
                graph.add_to_collections(keys, update)
            return lambda value: value

        def gated(value: Any) -> Any:
            with graph.control_dependencies(updates):
                return raw.Identity(value)

        return gated


def _constant(training: Any) -> bool | None:
    """Return whether `training` is true, or None if only a step can tell."""
    if isinstance(training, bool | int):
        return bool(training)
    value = convert.constant_value(convert.convert_to_tensor(training))
    return None if value is None else bool(value)


def _moments(inputs: Any, axes: list[int], weights: Any) -> tuple[Any, Any]:
    """Return the mean and the variance of the channels, with a weight for each example or None."""
    if weights is None:
        return nn.moments(inputs, axes)
    weights = raw.Cast(convert.convert_to_tensor(weights), DstT=inputs.dtype.base_dtype)
    columns = raw.Reshape(weights, [-1] + [1] * (inputs.shape.ndims - 1))
    shares = raw.Mul(raw.OnesLike(inputs), columns)
    total = reduce_ops.reduce_sum(shares, axes, keepdims=True)

    def mean_of(values: Any) -> Any:
        return raw.RealDiv(
            reduce_ops.reduce_sum(raw.Mul(values, shares), axes, keepdims=True), total
        )

    mean = mean_of(inputs)
    variance = mean_of(raw.SquaredDifference(inputs, raw.StopGradient(mean)))
    return raw.Squeeze(mean, squeeze_dims=axes), raw.Squeeze(variance, squeeze_dims=axes)
