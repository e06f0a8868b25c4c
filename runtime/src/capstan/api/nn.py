"""`tf.nn`: activations, losses and the arithmetic of layers (python/ops/nn_ops.py, nn_impl.py)."""

# ruff: noqa: F403 - the other modules list their exports in `__all__`

import importlib
from typing import Any

import numpy as np

from capstan.api import (
    array_ops,
    embedding_ops,
    gather_ops,
    losses_ops,
    math_ops,
    nn_activations,
    nn_convolution,
    nn_image_pools,
    nn_moments,
    nn_normalization,
    plain,
    random_ops,
    reduce_ops,
)
from capstan.api.absent import absent
from capstan.api.nn_activations import *
from capstan.api.nn_convolution import *
from capstan.api.nn_image_pools import *
from capstan.api.nn_moments import *
from capstan.api.nn_normalization import *
from capstan.api.scoped import scoped
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert
from capstan.framework.raw import raw

__all__ = [
    "bias_add", "dropout", "embedding_lookup", "embedding_lookup_sparse", "in_top_k", "l2_loss",
    "l2_normalize", "leaky_relu", "log_poisson_loss", "log_softmax", "relu", "relu_layer",
    "sigmoid", "sigmoid_cross_entropy_with_logits", "softmax", "softmax_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits_v2", "sparse_softmax_cross_entropy_with_logits", "tanh",
    "weighted_cross_entropy_with_logits", "xw_plus_b", "zero_fraction",
    *nn_activations.__all__, *nn_convolution.__all__, *nn_image_pools.__all__,
    *nn_moments.__all__, *nn_normalization.__all__,
]  # fmt: skip

embedding_lookup = gather_ops.embedding_lookup
embedding_lookup_sparse = embedding_ops.embedding_lookup_sparse
log_poisson_loss = losses_ops.log_poisson_loss
sigmoid = math_ops.sigmoid
sigmoid_cross_entropy_with_logits = losses_ops.sigmoid_cross_entropy_with_logits
softmax_cross_entropy_with_logits = losses_ops.softmax_cross_entropy_with_logits
softmax_cross_entropy_with_logits_v2 = losses_ops.softmax_cross_entropy_with_logits_v2
sparse_softmax_cross_entropy_with_logits = losses_ops.sparse_softmax_cross_entropy_with_logits
tanh = math_ops.tanh
weighted_cross_entropy_with_logits = losses_ops.weighted_cross_entropy_with_logits


relu = plain.function("relu", "Relu", "Return the larger of 0 and each element.")


def leaky_relu(features: Any, alpha: Any = 0.2, name: str | None = None) -> Any:
    """Return x where it is positive, and alpha * x elsewhere. Integers become float32."""
    with scoped(name, "LeakyRelu", (features, alpha)) as scope:
        features = convert.convert_to_tensor(features, name="features")
        if features.dtype.is_integer:
            features = math_ops.cast(features, dtypes.float32)
        slope = alpha.item() if isinstance(alpha, np.ndarray | np.generic) else alpha
        return raw.LeakyRelu(features, alpha=slope, name=scope)


def softmax(
    logits: Any, axis: int | None = None, name: str | None = None, dim: int | None = None
) -> Any:
    """Return exp(logits) / sum(exp(logits)) along an axis (default: the last)."""
    return losses_ops.along_last_axis("Softmax", logits, dim if axis is None else axis, name)


def log_softmax(
    logits: Any, axis: int | None = None, name: str | None = None, dim: int | None = None
) -> Any:
    """Return logits - log(sum(exp(logits))) along an axis (default: the last)."""
    return losses_ops.along_last_axis("LogSoftmax", logits, dim if axis is None else axis, name)


def bias_add(value: Any, bias: Any, data_format: str | None = None, name: str | None = None) -> Any:
    """Add a vector along the last axis, or along axis 1 for the format "NCHW".

    Raises:
        ValueError: the format is unknown, or the vector and the axis have different sizes.
    """
    if data_format not in (None, "NHWC", "NCHW"):
        raise ValueError(f"data_format must be 'NHWC' or 'NCHW', not {data_format!r}")
    with scoped(name, "BiasAdd", (value, bias)) as scope:
        return raw.BiasAdd(value, bias, data_format=data_format or "NHWC", name=scope)


def xw_plus_b(x: Any, weights: Any, biases: Any, name: str | None = None) -> Any:
    """Return matmul(x, weights) + biases."""
    with scoped(name, "xw_plus_b", (x, weights, biases)) as scope:
        return raw.BiasAdd(raw.MatMul(x, weights), biases, name=scope)


def relu_layer(x: Any, weights: Any, biases: Any, name: str | None = None) -> Any:
    """Return relu(matmul(x, weights) + biases)."""
    with scoped(name, "relu_layer", (x, weights, biases)) as scope:
        return raw.Relu(raw.BiasAdd(raw.MatMul(x, weights), biases), name=scope)


def dropout(
    x: Any,
    keep_prob: Any = None,
    noise_shape: Any = None,
    seed: int | None = None,
    name: str | None = None,
    rate: Any = None,
) -> Any:
    """Set random elements to 0 and scale the others up, so that the expected sum is unchanged.

    `keep_prob` is the probability that an element is kept. `rate` is the probability that an
    element is set to 0. If an axis of `noise_shape` has size 1, all elements along the axis are
    kept or dropped together. None in `noise_shape` stands for the size of `x`.

    Raises:
        ValueError: neither or both of `keep_prob` and `rate` are given, the probability of keeping
            is not in (0, 1], or `x` has no floating dtype.
    """
    if (keep_prob is None) is (rate is None):
        raise ValueError("You must provide either keep_prob or rate to dropout, not both")
    rate = _dropout_rate(keep_prob, rate)
    with scoped(name, "dropout", (x, rate)):
        x = convert.convert_to_tensor(x, name="x")
        if not x.dtype.is_floating:
            raise ValueError(
                "x has to be a floating point tensor since it's going to be scaled. Got a "
                f"{x.dtype.name} tensor instead."
            )
        if isinstance(rate, float) and rate == 0.0:
            return x
        kind = x.dtype.base_dtype
        rate = convert.convert_to_tensor(rate, kind, "rate")
        sizes = array_ops.shape(x) if noise_shape is None else _noise_sizes(x, noise_shape)
        noise = random_ops.random_uniform(sizes, seed=seed, dtype=kind)
        scale = raw.RealDiv(1, raw.Sub(1, rate, name="sub"), name="truediv")
        is_kept = raw.GreaterEqual(noise, rate)
        scaled = raw.Mul(x, scale, name="mul")
        result = raw.Mul(scaled, raw.Cast(is_kept, DstT=kind), name="mul")
        result.set_shape(x.shape)
        return result


def _noise_sizes(x: Any, noise_shape: Any) -> Any:
    """Return the shape of the noise, with the sizes of `x` where `noise_shape` has None."""
    if isinstance(noise_shape, tensor_shape.TensorShape):
        noise_shape = noise_shape.as_list()
    if not isinstance(noise_shape, list | tuple) or None not in noise_shape:
        return noise_shape
    sizes = raw.Shape(x)
    static = x.shape.as_list() if x.shape.ndims == len(noise_shape) else [None] * len(noise_shape)
    return [
        given if given is not None else sizes[axis] if known is None else known
        for axis, (given, known) in enumerate(zip(noise_shape, static, strict=True))
    ]


def _dropout_rate(keep_prob: Any, rate: Any) -> Any:
    """Return the probability that an element is set to 0, as a float or a tensor."""
    probability = keep_prob if rate is None else rate
    if isinstance(probability, float | int):
        keep = float(probability) if rate is None else 1.0 - float(probability)
        if not 0.0 < keep <= 1.0:
            raise ValueError(
                f"keep_prob must be a scalar tensor or a float in the range (0, 1], got {keep:g}"
            )
        return 1.0 - keep
    return raw.Sub(1, probability, name="sub") if rate is None else probability


l2_loss = plain.function("l2_loss", "L2Loss", "Return half the sum of the squares.")


def l2_normalize(
    x: Any, axis: Any = None, epsilon: float = 1e-12, name: str | None = None, dim: Any = None
) -> Any:
    """Return x / sqrt(max(sum(x**2), epsilon)), with the sum over `axis`."""
    with scoped(name, "l2_normalize", (x,)) as scope:
        x = convert.convert_to_tensor(x, name="x")
        total = reduce_ops.reduce_sum(raw.Square(x), dim if axis is None else axis, keepdims=True)
        return raw.Mul(x, raw.Rsqrt(raw.Maximum(total, epsilon)), name=scope)


def zero_fraction(value: Any, name: str | None = None) -> Any:
    """Return the fraction of the elements that are zero."""
    with scoped(name, "zero_fraction", (value,)):
        value = convert.convert_to_tensor(value, name="value")
        is_zero = raw.Equal(value, raw.ZerosLike(value))
        return reduce_ops.reduce_mean(raw.Cast(is_zero, DstT=dtypes.float32), name="fraction")


def in_top_k(predictions: Any, targets: Any, k: Any, name: str | None = None) -> Any:
    """Return for each row whether its target is among the k largest predictions.

    A target whose prediction equals the k-th largest prediction counts as well. `k` may be a
    tensor.
    """
    with scoped(name, "in_top_k", (predictions, targets, k)):
        return raw.InTopKV2(predictions, targets, k)


_VOLUMES = (
    "avg_pool3d", "conv3d", "conv3d_backprop_filter", "conv3d_backprop_filter_v2",
    "conv3d_transpose", "max_pool3d",
)  # fmt: skip
_POOLS = (
    "avg_pool1d", "avg_pool_v2", "max_pool1d", "max_pool_v2", "max_pool_with_argmax", "pool",
)  # fmt: skip
_TRANSPOSED = (
    "atrous_conv2d_transpose", "conv1d_transpose", "conv_transpose",
    "depthwise_conv2d_backprop_filter", "depthwise_conv2d_backprop_input",
    "depthwise_conv2d_native_backprop_filter", "depthwise_conv2d_native_backprop_input",
)  # fmt: skip
_QUANTIZED = (
    "quantized_avg_pool", "quantized_conv2d", "quantized_max_pool", "quantized_relu_x",
)  # fmt: skip
_LATE = {
    **dict.fromkeys(_VOLUMES, "capstan.api.nn_volumes"),
    **dict.fromkeys(_POOLS, "capstan.api.nn_pooling"),
    **dict.fromkeys(_TRANSPOSED, "capstan.api.nn_transposed"),
    "all_candidate_sampler": "capstan.api.candidate_ops",
    "bidirectional_dynamic_rnn": "capstan.api.rnn.bidirectional",
    **dict.fromkeys(
        ("compute_average_loss", "scale_regularization_loss"), "capstan.api.replica_losses"
    ),
    "collapse_repeated": "capstan.api.ctc_dense",
    "compute_accidental_hits": "capstan.api.candidate_ops",
    "ctc_beam_search_decoder": "capstan.api.ctc_ops",
    "ctc_beam_search_decoder_v2": "capstan.api.ctc_ops",
    "ctc_greedy_decoder": "capstan.api.ctc_ops",
    "ctc_loss": "capstan.api.ctc_ops",
    "ctc_loss_v2": "capstan.api.ctc_dense",
    "ctc_unique_labels": "capstan.api.ctc_dense",
    "depth_to_space": "capstan.api.block_ops",
    "dilation2d": "capstan.api.nn_morphology",
    "dynamic_rnn": "capstan.api.rnn.loops",
    "erosion2d": "capstan.api.nn_morphology",
    "fixed_unigram_candidate_sampler": "capstan.api.candidate_ops",
    "fractional_avg_pool": "capstan.api.nn_fractional_pools",
    "fractional_max_pool": "capstan.api.nn_fractional_pools",
    "learned_unigram_candidate_sampler": "capstan.api.candidate_ops",
    "log_uniform_candidate_sampler": "capstan.api.candidate_ops",
    "nce_loss": "capstan.api.candidate_ops",
    **dict.fromkeys(_QUANTIZED, "capstan.api.quantization_ops"),
    "raw_rnn": "capstan.api.rnn.raw_loop",
    "safe_embedding_lookup_sparse": "capstan.api.embedding_ops",
    "sampled_softmax_loss": "capstan.api.candidate_ops",
    "space_to_batch": "capstan.api.block_ops",
    "space_to_depth": "capstan.api.block_ops",
    "static_bidirectional_rnn": "capstan.api.rnn.bidirectional",
    "static_rnn": "capstan.api.rnn.loops",
    "static_state_saving_rnn": "capstan.api.rnn.saved_states",
    "uniform_candidate_sampler": "capstan.api.candidate_ops",
    "with_space_to_batch": "capstan.api.nn_space_to_batch",
}


def __getattr__(name: str) -> Any:
    """Import rarely used functions, and cells, which use `nn` themselves, at their first use."""
    if name == "rnn_cell":
        value: Any = importlib.import_module("capstan.api.rnn")
    elif name in _LATE:
        value = getattr(importlib.import_module(_LATE[name]), name)
    else:
        raise absent("tf.nn", name)
    globals()[name] = value
    return value
