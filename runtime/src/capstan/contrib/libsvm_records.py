"""`tf.contrib.libsvm`: records of text in the LibSVM format (contrib/libsvm).

Existing operations on strings take the place of TensorFlow's operation DecodeLibsvm.
"""

from typing import Any

from capstan.api import (
    array_ops,
    check_ops,
    context,
    control_flow_ops,
    deprecation,
    parsing_ops,
)
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw
from capstan.framework.sparse_tensor import SparseTensor

__all__ = ["decode_libsvm"]


@deprecation.deprecated(
    None,
    "tf.contrib.libsvm will be removed in 2.0, the support for libsvm format will continue to be "
    "provided in tensorflow-io: https://github.com/tensorflow/io",
)
def decode_libsvm(
    content: Any, num_features: int, dtype: Any = None, label_dtype: Any = None
) -> tuple[SparseTensor, Any]:
    """Return the features and the labels of records such as `1 3:0.5 7:2`.

    The features are a SparseTensor of the shape of `content` and `num_features`, with the values in
    the order of the text. The types are float32, float64, int32 or int64: by default float32 for
    features and int64 for labels. As in TensorFlow, no index is compared with `num_features`.

    The step raises InvalidArgumentError if a record has no label, a feature has no colon or a
    negative index, or a number has another form.

    Raises:
        ValueError: `num_features` is not positive.
    """
    if num_features < 1:
        raise ValueError(f"num_features must be at least 1, got {num_features}")
    records = convert.convert_to_tensor(content, dtypes.string)
    shape = array_ops.shape(records, out_type=dtypes.int64)
    flat = raw.Reshape(records, [-1])
    words = raw.StringSplitV2(flat, "")
    is_label = raw.Equal(words.indices[:, 1], 0)
    labels, _ = _chosen(is_label, words)
    _, rows = _chosen(raw.LogicalNot(is_label), words)
    with context.control_dependencies([_each_has_label(labels, flat)]):
        numbers = parsing_ops.string_to_number(labels, label_dtype or dtypes.int64)
    features, _ = _chosen(raw.LogicalNot(is_label), words)
    indices, values = _parsed(features, dtype or dtypes.float32)
    places = array_ops.concat([_unravelled(rows, shape), raw.ExpandDims(indices, 1)], 1)
    labelled = raw.Reshape(numbers, shape)
    labelled.set_shape(records.shape)
    return SparseTensor(places, values, array_ops.concat([shape, [num_features]], 0)), labelled


def _chosen(mask: Any, words: Any) -> tuple[Any, Any]:
    """Return the words of a mask, and the numbers of their records."""
    at = raw.Reshape(raw.Where(mask), [-1])
    return raw.GatherV2(words.values, at, 0), raw.GatherV2(words.indices[:, 0], at, 0)


def _each_has_label(labels: Any, records: Any) -> Any:
    return control_flow_ops.Assert(
        raw.Equal(array_ops.size(labels), array_ops.size(records)),
        ["No label found for a record of input: ", records],
    )


def _parsed(features: Any, dtype: Any) -> tuple[Any, Any]:
    """Return the indices and the values of texts such as `3:0.5`."""
    parts = raw.StringSplitV2(features, ":", maxsplit=1).values
    has_colons = control_flow_ops.Assert(
        raw.Equal(array_ops.size(parts), 2 * array_ops.size(features)),
        ["Invalid feature, which has no colon, in: ", features],
    )
    with context.control_dependencies([has_colons]):
        pairs = raw.Reshape(parts, [-1, 2])
    indices = parsing_ops.string_to_number(pairs[:, 0], dtypes.int64)
    is_index = check_ops.assert_non_negative(indices, message="Feature index should be >= 0")
    with context.control_dependencies([is_index]):
        indices = array_ops.identity(indices)
    return indices, parsing_ops.string_to_number(pairs[:, 1], dtype)


def _unravelled(rows: Any, shape: Any) -> Any:
    """Return the places of flat numbers in an array of `shape`, a row for each."""
    return raw.Transpose(raw.UnravelIndex(rows, shape), [1, 0])
