"""Functions of `tf.keras.backend` for labels without times: CTC (python/keras/backend.py).

The classes of a step are probabilities here, and the last class is blank.
"""

from typing import Any

from capstan.api import (
    array_ops,
    counting_ops,
    ctc_ops,
    gather_ops,
    math_ops,
    nd_ops,
    sparse_math_ops,
)
from capstan.api.layers import settings
from capstan.core import dtypes
from capstan.framework.sparse_tensor import SparseTensor


def ctc_label_dense_to_sparse(labels: Any, label_lengths: Any) -> SparseTensor:
    """Return labels [batch, longest], of which each row has a length, as a sparse tensor."""
    longest = array_ops.shape(labels)[1]
    is_label = counting_ops.sequence_mask(label_lengths, longest)
    indices = gather_ops.where(is_label)
    values = nd_ops.gather_nd(labels, indices)
    shape = math_ops.cast(array_ops.shape(labels), dtypes.int64)
    return SparseTensor(indices, values, shape)


def ctc_batch_cost(y_true: Any, y_pred: Any, input_length: Any, label_length: Any) -> Any:
    """Return the loss of each sequence, [batch, 1].

    `y_true` has the labels, [batch, longest], and `y_pred` the probabilities, [batch, time,
    classes]. The lengths have the shape [batch, 1].
    """
    steps, lengths = (
        math_ops.cast(array_ops.squeeze(each, axis=-1), dtypes.int32)
        for each in (input_length, label_length)
    )
    labels = ctc_label_dense_to_sparse(y_true, lengths)
    numbers = SparseTensor(
        labels.indices, math_ops.cast(labels.values, dtypes.int32), labels.dense_shape
    )
    losses = ctc_ops.ctc_loss(labels=numbers, inputs=_logarithms(y_pred), sequence_length=steps)
    return array_ops.expand_dims(losses, 1)


def ctc_decode(
    y_pred: Any, input_length: Any, greedy: bool = True, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[Any], Any]:
    """Return the most probable labels of each sequence, and the logarithms of probabilities.

    The labels are matrices [batch, longest], one for each of the `top_paths` paths of the beam
    search, with -1 behind the end. If `greedy`, there is one matrix, from the most probable class
    of each step. `y_pred` has the probabilities, [batch, time, classes].
    """
    steps = math_ops.cast(input_length, dtypes.int32)
    inputs = _logarithms(y_pred)
    if greedy:
        found, logarithms = ctc_ops.ctc_greedy_decoder(inputs, steps)
    else:
        found, logarithms = ctc_ops.ctc_beam_search_decoder(inputs, steps, beam_width, top_paths)
    return [sparse_math_ops.sparse_tensor_to_dense(each, -1) for each in found], logarithms


def _logarithms(probabilities: Any) -> Any:
    """Return logarithms [time, batch, classes] of probabilities [batch, time, classes]."""
    turned = array_ops.transpose(probabilities, [1, 0, 2])
    return math_ops.log(turned + settings.SETTINGS.epsilon)
