"""`tf.layers.batch_normalization` (python/layers/normalization.py)."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from capstan.api import init_ops, math_ops, nn, nn_normalization, smart_cond, state_ops
from capstan.api.layers import base, common, input_spec
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


class CommonBatchNormalization(common.CommonLayer):
    """Normalizes the activations of a batch to mean 0 and variance 1, along all axes but `axis`.

    During training the moments are those of the batch, and the layer keeps their moving averages.
    Otherwise the moving averages are the moments.
    """

    def __init__(
        self,
        axis: int = -1,
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
        fused: bool | None = None,
        trainable: bool = True,
        name: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(trainable, name, **kwargs)
        self.axis = axis[0] if isinstance(axis, Sequence) else axis
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

    def build(self, input_shape: Any) -> None:
        shape = tensor_shape.as_shape(input_shape)
        rank = shape.ndims
        if not rank:
            raise ValueError(f"Input has undefined rank: {shape}")
        axis = self.axis % rank
        size = shape.as_list()[axis]
        if size is None:
            raise ValueError(f"Input has undefined `axis` dimension. Input shape: {shape}")
        self.axis = axis
        self.fused = self.fused is not False and rank == 4 and axis in (1, 3)
        self.input_spec = input_spec.InputSpec(ndim=rank, axes={axis: size})
        kind = self._dtype
        if kind in (dtypes.float16, dtypes.bfloat16):
            kind = dtypes.float32
        if self.scale:
            self.gamma = self.add_weight(
                "gamma", (size,), kind, self.gamma_initializer, self.gamma_regularizer,
                constraint=self.gamma_constraint,
            )  # fmt: skip
        if self.center:
            self.beta = self.add_weight(
                "beta", (size,), kind, self.beta_initializer, self.beta_regularizer,
                constraint=self.beta_constraint,
            )  # fmt: skip
        with self._without_partitioner():
            self.moving_mean = self.add_weight(
                "moving_mean", (size,), kind, self.moving_mean_initializer, trainable=False
            )
            self.moving_variance = self.add_weight(
                "moving_variance", (size,), kind, self.moving_variance_initializer, trainable=False
            )
        self.built = True

    def _without_partitioner(self) -> AbstractContextManager[None]:
        """Return a block in which the variables of the layer are not cut. Averages move whole."""
        return nullcontext()

    def call(self, inputs: Any, training: Any = False) -> Any:
        normalize = self._fused if self.fused else self._plain
        outputs, mean, variance = normalize(inputs, training)
        if mean is not None:
            momentum = smart_cond.smart_cond(training, *_constants(training, self.momentum, 1.0))
            self.add_update(_moved(self.moving_mean, mean, momentum))
            self.add_update(_moved(self.moving_variance, variance, momentum))
        return outputs

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
        if _is_python(training) and not training:
            return outputs, None, None
        return outputs, mean, variance

    def _plain(self, inputs: Any, training: Any) -> Any:
        rank = inputs.shape.ndims
        axes = [axis for axis in range(rank) if axis != self.axis]
        mean, variance = self.moving_mean, self.moving_variance
        moments: tuple[Any, Any] = (None, None)
        if not _is_python(training) or training:
            found = nn.moments(inputs, axes)
            moments = mean, variance = smart_cond.smart_cond(
                training,
                lambda: found,
                lambda: (raw.Identity(self.moving_mean), raw.Identity(self.moving_variance)),
            )
        outputs = nn.batch_normalization(
            inputs,
            self._along(mean, rank),
            self._along(variance, rank),
            self._along(self.beta, rank),
            self._along(self.gamma, rank),
            self.epsilon,
        )
        outputs.set_shape(inputs.shape)
        return outputs, *moments

    def _along(self, vector: Any, rank: int) -> Any:
        """Return a vector in a shape that broadcasts along the axis of the layer."""
        if vector is None or self.axis == rank - 1:
            return vector
        return raw.Reshape(vector, [-1 if axis == self.axis else 1 for axis in range(rank)])


class BatchNormalization(CommonBatchNormalization, base.Layer):
    """Normalizes the activations of a batch to mean 0 and variance 1, along all axes but `axis`.

    The operations that update the moving averages are in the collection UPDATE_OPS: run them with
    the training step.
    """

    @contextmanager
    def _without_partitioner(self) -> Iterator[None]:
        self._open(None)
        partitioner = self._scope.partitioner
        self._scope.set_partitioner(None)
        try:
            yield
        finally:
            self._scope.set_partitioner(partitioner)


def _is_python(training: Any) -> bool:
    return isinstance(training, bool | int)


def _moved(variable: Any, value: Any, momentum: Any) -> Any:
    """Return the operation that moves an average by `1 - momentum` of the way to a value."""
    graph = graphs.get_default_graph()
    # A custom getter may return an object that is no variable, but becomes a tensor.
    owner = getattr(variable, "op", None) or convert.convert_to_tensor(variable, as_ref=True).op
    with graph.name_scope("AssignMovingAvg") as scope, graph.colocate_with(owner):
        kind = variable.dtype.base_dtype
        if isinstance(momentum, float):
            share = convert.constant(1.0 - momentum, kind, name="decay")
        else:
            share = math_ops.cast(raw.Sub(1.0, momentum), kind)
        delta = raw.Mul(raw.Sub(variable, math_ops.cast(value, kind)), share)
        return state_ops.assign_sub(variable, delta, name=scope)


def _constants(training: Any, *values: float) -> Sequence[Any]:
    """Return a function for each value. If `training` is a tensor, the functions return tensors."""
    if _is_python(training):
        return [lambda value=value: value for value in values]
    return [lambda value=value: convert.constant(value, dtypes.float32) for value in values]


def batch_normalization(
    inputs: Any,
    axis: int = -1,
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
    training: Any = False,
    trainable: bool = True,
    name: str | None = None,
    reuse: Any = None,
    renorm: bool = False,
    renorm_clipping: Any = None,
    renorm_momentum: float = 0.99,
    fused: bool | None = None,
    virtual_batch_size: int | None = None,
    adjustment: Any = None,
) -> Any:
    """Return normalized activations, as `BatchNormalization` describes.

    Raises:
        NotImplementedError: an argument asks for renormalization, virtual batches or adjustments.
    """
    if renorm or virtual_batch_size is not None or adjustment is not None:
        raise NotImplementedError(
            "batch_normalization has no renorm, virtual_batch_size and adjustment: omit them"
        )
    layer = BatchNormalization(
        axis, momentum, epsilon, center, scale, beta_initializer, gamma_initializer,
        moving_mean_initializer, moving_variance_initializer, beta_regularizer, gamma_regularizer,
        beta_constraint, gamma_constraint, fused, trainable, name, _reuse=reuse, _scope=name,
    )  # fmt: skip
    return layer.apply(inputs, training=training)
