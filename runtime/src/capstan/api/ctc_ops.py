"""Connectionist temporal classification (python/ops/ctc_ops.py), functions of `tf.nn`.

It learns labels of sequences without their times. The last class is the blank.
"""

from typing import Any

from capstan.api import deprecation
from capstan.framework import convert
from capstan.framework.raw import raw
from capstan.framework.sparse_tensor import SparseTensor

__all__ = [
    "ctc_beam_search_decoder", "ctc_beam_search_decoder_v2", "ctc_greedy_decoder", "ctc_loss",
]  # fmt: skip


def ctc_loss(
    labels: Any,
    inputs: Any = None,
    sequence_length: Any = None,
    preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True,
    ignore_longer_outputs_than_inputs: bool = False,
    time_major: bool = True,
    logits: Any = None,
) -> Any:
    """Return -log(probability of the labels) for each sequence of a batch.

    `labels` is a SparseTensor of int32, [batch, label]. `inputs`, or `logits`, are the logits of
    float32 or float64, [time, batch, classes], or [batch, time, classes] if not `time_major`.
    `sequence_length` has the length of each sequence. With `preprocess_collapse_repeated`, equal
    labels that follow each other count once. Without `ctc_merge_repeated`, equal classes of a path
    that follow each other are labels of their own. A sequence that has no label, or is shorter than
    its labels, makes the step raise InvalidArgumentError. With `ignore_longer_outputs_than_inputs`,
    the loss of a short sequence is 0 instead.

    Raises:
        TypeError: `labels` is not a SparseTensor.
        ValueError: the logits are given by both names, or the shapes do not fit.
    """
    if not isinstance(labels, SparseTensor):
        raise TypeError("Expected labels (first argument) to be a SparseTensor")
    logits = deprecation.deprecated_argument_lookup("logits", logits, "inputs", inputs)
    values = convert.convert_to_tensor(logits, name="logits")
    if not time_major:
        values = raw.Transpose(values, [1, 0, 2])
    loss, _ = raw.CTCLoss(
        values,
        labels.indices,
        labels.values,
        sequence_length,
        preprocess_collapse_repeated=preprocess_collapse_repeated,
        ctc_merge_repeated=ctc_merge_repeated,
        ignore_longer_outputs_than_inputs=ignore_longer_outputs_than_inputs,
    )
    return loss


def ctc_greedy_decoder(
    inputs: Any, sequence_length: Any, merge_repeated: bool = True
) -> tuple[list[SparseTensor], Any]:
    """Return the labels of the most likely path of each sequence, and the path's negative score.

    `inputs` are logits of float32 or float64, [time, batch, classes]. With `merge_repeated`, equal
    classes that follow each other are one label. The labels are a list of one SparseTensor of
    int64, [batch, label]. The score is the sum of the largest logits, and has the shape [batch, 1].
    """
    indices, values, shape, scores = raw.CTCGreedyDecoder(
        inputs, sequence_length, merge_repeated=merge_repeated
    )
    return [SparseTensor(indices, values, shape)], scores


def ctc_beam_search_decoder(
    inputs: Any,
    sequence_length: Any,
    beam_width: int = 100,
    top_paths: int = 1,
    merge_repeated: bool = True,
) -> tuple[list[SparseTensor], Any]:
    """Return the `top_paths` most likely labels of each sequence, and logarithms of probabilities.

    `inputs` are logits of float32 or float64, [time, batch, classes]. A search keeps `beam_width`
    sequences of labels in each time step. The labels are a list of `top_paths` SparseTensors of
    int64, [batch, label], the most likely first. The probabilities have the shape [batch,
    top_paths]. With `merge_repeated`, equal labels that follow each other in a result are one
    label, also where a blank was between them. A step raises InvalidArgumentError if a sequence has
    fewer results than `top_paths`.
    """
    indices, values, shapes, scores = raw.CTCBeamSearchDecoder(
        inputs,
        sequence_length,
        beam_width=beam_width,
        top_paths=top_paths,
        merge_repeated=merge_repeated,
    )
    parts = zip(indices, values, shapes, strict=True)
    return [SparseTensor(*each) for each in parts], scores


def ctc_beam_search_decoder_v2(
    inputs: Any, sequence_length: Any, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[SparseTensor], Any]:
    """Return what `ctc_beam_search_decoder` returns without `merge_repeated`."""
    return ctc_beam_search_decoder(inputs, sequence_length, beam_width, top_paths, False)
