"""The functions of `tf.compat.v2` that are those of `tf` with other arguments, by module.

`reordered` describes the rows. They hold the signatures of TensorFlow 1.15.
"""

from collections.abc import Mapping
from typing import Final

_ASSERT = "message=None, summarize=None, name=None"
_REDUCED = "input_tensor, axis=None, keepdims=False, name=None"
_SEGMENTS = "data, indices, segment_ids, num_segments=None, name=None"
_SERIALIZED = "serialized, features, example_names=None, name=None"

_ARRAYS: Final = (
    "argmax(input, axis=None, output_type=int64, name=None)",
    "argmin(input, axis=None, output_type=int64, name=None)",
    *(
        f"reduce_{each}({_REDUCED})"
        for each in ("all", "any", "logsumexp", "max", "mean", "min", "prod", "sum")
    ),
)
_PAIRS: Final = ("equal", "greater", "less")
ROWS: Final[Mapping[str, tuple[str, ...]]] = {
    "": (
        *_ARRAYS,
        *(f"assert_{each}(x, y, {_ASSERT})" for each in _PAIRS),
        "assert_rank(x, rank, message=None, name=None)",
        'boolean_mask(tensor, mask, axis=None, name="boolean_mask")',
        "convert_to_tensor(value, dtype=None, dtype_hint=None, name=None)",
        "expand_dims(input, axis, name=None)",
        "gather(params, indices, validate_indices=None, axis=None, batch_dims=0, name=None)",
        "gather_nd(params, indices, batch_dims=0, name=None)",
        'norm(tensor, ord="euclidean", axis=None, keepdims=None, name=None)',
        "ones_like(input: tensor, dtype=None, name=None)",
        'pad(tensor, paddings, mode="CONSTANT", constant_values=0, name=None)',
        "reverse_sequence(input, seq_lengths, seq_axis=None, batch_axis=None, name=None)",
        "shape(input, out_type=int32, name=None)",
        "size(input, out_type=int32, name=None)",
        "space_to_batch(input, block_shape, paddings, name=None) -> space_to_batch_nd",
        "squeeze(input, axis=None, name=None)",
        'transpose(a, perm=None, conjugate=False, name="transpose")',
        "tuple(tensors, control_inputs=None, name=None)",
        "zeros_like(input: tensor, dtype=None, name=None)",
    ),
    "autograph": (
        "to_code(entity, recursive=True, experimental_optional_features=None)",
        "to_graph(entity, recursive=True, experimental_optional_features=None)",
    ),
    "debugging": (
        *(f"assert_{each}(x, y, {_ASSERT})" for each in (*_PAIRS, "greater_equal", "less_equal")),
        *(
            f"assert_{each}(x, {_ASSERT})"
            for each in ("negative", "non_negative", "non_positive", "positive")
        ),
        "assert_all_finite(x, message, name=None)",
        f"assert_near(x, y, rtol=None, atol=None, {_ASSERT})",
        "assert_none_equal(x, y, summarize=None, message=None, name=None)",
        "assert_rank(x, rank, message=None, name=None)",
        "assert_rank_at_least(x, rank, message=None, name=None)",
        "assert_rank_in(x, ranks, message=None, name=None)",
        "assert_scalar(tensor, message=None, name=None)",
    ),
    "feature_column": (
        "categorical_column_with_vocabulary_file(key, vocabulary_file, vocabulary_size=None, "
        "dtype=string, default_value=None, num_oov_buckets=0)",
    ),
    "image": (
        'crop_and_resize(image, boxes, box_indices, crop_size, method="bilinear", '
        "extrapolation_value=0, name=None)",
        "draw_bounding_boxes(images, boxes, colors, name=None)",
    ),
    "io": (
        'decode_csv(records, record_defaults, field_delim=",", use_quote_delim=True, na_value="", '
        "select_cols=None, name=None)",
        f"parse_example({_SERIALIZED})",
        f"parse_single_example({_SERIALIZED})",
        "serialize_many_sparse(sp_input, out_type=string, name=None)",
        "serialize_sparse(sp_input, out_type=string, name=None)",
    ),
    "linalg": (
        "l2_normalize(x, axis=None, epsilon=1e-12, name=None)",
        'norm(tensor, ord="euclidean", axis=None, keepdims=None, name=None)',
    ),
    "math": (
        *_ARRAYS,
        "confusion_matrix(labels, predictions, num_classes=None, weights=None, dtype=int32, "
        "name=None)",
        "count_nonzero(input, axis=None, keepdims=None, dtype=int64, name=None)",
        "in_top_k(targets, predictions, k, name=None)",
        "l2_normalize(x, axis=None, epsilon=1e-12, name=None)",
        "log_softmax(logits, axis=None, name=None)",
        "softmax(logits, axis=None, name=None)",
    ),
    "nn": (
        "avg_pool(input, ksize, strides, padding, data_format=None, name=None) -> nn.avg_pool_v2",
        'avg_pool2d(input: value, ksize, strides, padding, data_format="NHWC", name=None)',
        "batch_norm_with_global_normalization(input, mean, variance, beta, gamma, "
        "variance_epsilon, scale_after_normalization, name=None)",
        'conv1d(input, filters, stride, padding, data_format="NWC", dilations=None, name=None)',
        'conv2d_transpose(input, filters, output_shape, strides, padding="SAME", '
        'data_format="NHWC", dilations=None, name=None)',
        'conv3d_transpose(input, filters, output_shape, strides, padding="SAME", '
        'data_format="NDHWC", dilations=None, name=None)',
        'convolution(input, filters: filter, strides=None, padding="VALID", data_format=None, '
        "dilations: dilation_rate = None, name=None)",
        "crelu(features, axis=-1, name=None)",
        "ctc_beam_search_decoder(inputs, sequence_length, beam_width=100, top_paths=1)"
        " -> nn.ctc_beam_search_decoder_v2",
        "ctc_loss(labels, logits, label_length, logit_length, logits_time_major=True, unique=None, "
        "blank_index=None, name=None) -> nn.ctc_loss_v2",
        'depth_to_space(input, block_size, data_format="NHWC", name=None)',
        "depthwise_conv2d(input, filter, strides, padding, data_format=None, dilations=None, "
        "name=None)",
        "dropout(x, rate, noise_shape=None, seed=None, name=None)",
        "in_top_k(targets, predictions, k, name=None)",
        "l2_normalize(x, axis=None, epsilon=1e-12, name=None)",
        "log_softmax(logits, axis=None, name=None)",
        "max_pool(input, ksize, strides, padding, data_format=None, name=None) -> nn.max_pool_v2",
        'max_pool_with_argmax(input, ksize, strides, padding, data_format="NHWC", '
        "output_dtype=int64, include_batch_in_index=False, name=None)",
        "moments(x, axes, shift=None, keepdims=False, name=None)",
        'pool(input, window_shape, pooling_type, strides=None, padding="VALID", data_format=None, '
        "dilations=None, name=None)",
        "separable_conv2d(input, depthwise_filter, pointwise_filter, strides, padding, "
        "data_format=None, dilations=None, name=None)",
        "sigmoid_cross_entropy_with_logits(labels=None, logits=None, name=None)",
        "softmax(logits, axis=None, name=None)",
        "softmax_cross_entropy_with_logits(labels, logits, axis=-1, name=None)"
        " -> nn.softmax_cross_entropy_with_logits_v2",
        "space_to_batch(input, block_shape, paddings, name=None) -> space_to_batch_nd",
        'space_to_depth(input, block_size, data_format="NHWC", name=None)',
        "sparse_softmax_cross_entropy_with_logits(labels, logits, name=None)",
        "sufficient_statistics(x, axes, shift=None, keepdims=False, name=None)",
        "weighted_cross_entropy_with_logits(labels, logits, pos_weight, name=None)",
        "weighted_moments(x, axes, frequency_weights, keepdims=False, name=None)",
    ),
    "random": ("poisson(shape, lam, dtype=float32, seed=None, name=None)",),
    "sparse": (
        "add(a, b, threshold=0)",
        "concat(axis, sp_inputs, expand_nonconcat_dims=False, name=None)",
        *(f"segment_{each}({_SEGMENTS})" for each in ("mean", "sqrt_n", "sum")),
        "split(sp_input=None, num_split=None, axis=None, name=None)",
    ),
    "strings": (
        'length(input, unit="BYTE", name=None)',
        'reduce_join(inputs, axis=None, keepdims=False, separator="", name=None)',
        'substr(input, pos, len, unit="BYTE", name=None)',
        "to_hash_bucket(input, num_buckets, name=None)",
        "to_number(input, out_type=float32, name=None)",
    ),
}
