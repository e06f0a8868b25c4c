"""Connectionist temporal classification with dense labels (python/ops/ctc_ops.py).

The loss runs on CPUs and GPUs. The blank is class 0, unless a program chooses another class.

A path is at label 0, the start, or at one of the labels, or at the blank behind one of them. Its
steps lead to the same place, to the blank, to the next label, or past a blank to the next label.
Equal neighbours need a blank between them. The sums over all paths are those of Sim and others,
"Improving the efficiency of forward-backward algorithm using batched computation in TensorFlow"
(ASRU 2017).
"""

import math
from typing import Any, Final, NamedTuple

import numpy as np

from capstan.api import counting_ops, creation_ops, ctc_ops, functional_ops, reduce_ops
from capstan.api.custom_gradient import custom_gradient
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw
from capstan.framework.sparse_tensor import SparseTensor

__all__ = ["collapse_repeated", "ctc_loss_v2", "ctc_unique_labels"]

_UNLIKELY: Final = math.log(1e-307)
"""The logarithm of the probability of another start or end. It is finite, so that sequences that
are too short for their labels have a loss, too."""


def ctc_loss_v2(
    labels: Any,
    logits: Any,
    label_length: Any,
    logit_length: Any,
    logits_time_major: bool = True,
    unique: Any = None,
    blank_index: int | None = None,
    name: str | None = None,
) -> Any:
    """Return -log(probability of the labels) for each sequence of a batch.

    `labels` are integers [batch, label], of which `label_length` [batch] counts. They may be a
    SparseTensor of int32 instead, and `label_length` is then ignored. `logits` are [time, batch,
    classes], or [batch, time, classes] if not `logits_time_major`. Their type is float32 or
    float64. Smaller floats are computed in float32. `logit_length` has the length of each sequence.

    `blank_index` is the class of the blank: 0 by default, and counted from the last class if it is
    negative. For a SparseTensor, it must be given, and the loss is that of `ctc_loss`. The loss of
    dense labels is large, and no error, if a sequence is too short for them. It does not depend on
    `unique`, the result of `ctc_unique_labels`.

    Raises:
        ValueError: `labels` is a SparseTensor, and `blank_index` is None.
    """
    if not isinstance(labels, SparseTensor):
        return ctc_loss_dense(
            labels, logits, label_length, logit_length, logits_time_major, unique,
            blank_index or 0, name,
        )  # fmt: skip
    if blank_index is None:
        raise ValueError("blank_index must be given when using SparseTensor labels.")
    logits = convert.convert_to_tensor(logits, name="logits")
    classes = _size(logits, 2)
    blank = blank_index + classes if blank_index < 0 else blank_index
    before, at, behind = _parted(logits, blank)
    values = raw.Select(raw.Less(labels.values, blank), labels.values, labels.values - 1)
    return ctc_ops.ctc_loss(
        SparseTensor(labels.indices, values, labels.dense_shape),
        raw.ConcatV2([before, behind, at], 2),
        logit_length,
        time_major=logits_time_major,
    )


def ctc_loss_dense(
    labels: Any,
    logits: Any,
    label_length: Any,
    logit_length: Any,
    logits_time_major: bool = True,
    unique: Any = None,
    blank_index: int = 0,
    name: str | None = None,
) -> Any:
    """Return what `ctc_loss_v2` returns for dense labels."""
    del unique  # TensorFlow needs less memory with it.
    with scoped(name, "ctc_loss_dense", (logits, labels, label_length, logit_length)):
        logits, labels, label_length, logit_length = (
            convert.convert_to_tensor(each, name=about)
            for each, about in (
                (logits, "logits"), (labels, "labels"), (label_length, "label_length"),
                (logit_length, "logit_length"),
            )
        )  # fmt: skip
        dtype = logits.dtype.base_dtype
        if dtype.size < 4:
            logits = raw.Cast(logits, DstT=dtypes.float32)
        if not logits_time_major:
            logits = raw.Transpose(logits, [1, 0, 2])
        if blank_index:
            blank = blank_index + _size(logits, 2) if blank_index < 0 else blank_index
            before, at, behind = _parted(logits, blank)
            logits = raw.ConcatV2([at, before, behind], 2)
            labels = raw.Select(raw.Less(labels, blank), labels + 1, labels)

        @custom_gradient
        def loss_of(given: Any) -> Any:
            loss, slope = _loss_and_slope(given, labels, label_length, logit_length)
            return loss, lambda grad: raw.Mul(raw.Reshape(grad, [1, -1, 1]), slope)

        loss = loss_of(logits)
        loss.set_shape([logits.shape.dims[1] if logits.shape.dims else None])
        return loss if loss.dtype == dtype else raw.Cast(loss, DstT=dtype)


def collapse_repeated(labels: Any, seq_length: Any, name: str | None = None) -> tuple[Any, Any]:
    """Return labels [batch, longest] without repetitions, and how many each row has left.

    A label that equals the label before it is left out. `seq_length` says how many labels of each
    row count. The rows end with zeros. The lengths have the type of `seq_length`.
    """
    with scoped(name, "collapse_repeated_labels", (labels, seq_length)):
        labels = convert.convert_to_tensor(labels, name="labels")
        seq_length = convert.convert_to_tensor(seq_length, name="seq_length")
        longest = _size(labels, 1)
        is_new = raw.NotEqual(labels[:, 1:], labels[:, :-1])
        is_new = raw.ConcatV2([raw.OnesLike(raw.Cast(labels[:, :1], DstT=dtypes.bool_)), is_new], 1)
        is_kept = raw.LogicalAnd(is_new, counting_ops.sequence_mask(seq_length, longest))
        counted = raw.Cast(is_kept, DstT=dtypes.int32)
        lengths = raw.Sum(counted, [1])
        places = raw.Where(is_kept)
        columns = raw.GatherNd(raw.Cumsum(counted, 1, exclusive=True), places)
        targets = raw.Pack([places[:, 0], raw.Cast(columns, DstT=dtypes.int64)], axis=1)
        shape = raw.Pack([_size(labels, 0), raw.Max(lengths, [0])])
        kept = raw.ScatterNd(
            targets, raw.GatherNd(labels, places), raw.Cast(shape, DstT=dtypes.int64)
        )
        kept.set_shape([labels.shape[0], None])
        return kept, raw.Cast(lengths, DstT=seq_length.dtype)


def ctc_unique_labels(labels: Any, name: str | None = None) -> tuple[Any, Any]:
    """Return the different labels of each row [batch, longest], and where each label is among them.

    The different labels are in int64, in the order in which they occur first, and the rows end with
    zeros. The places are in int32.
    """
    with scoped(name, "ctc_unique_labels", (labels,)):
        labels = convert.convert_to_tensor(labels, name="labels")

        def unique(row: Any) -> list[Any]:
            found, places = raw.Unique(row)
            missing = raw.Sub(raw.Size(places), raw.Size(found))
            padded = raw.Pad(found, raw.Reshape(raw.Pack([0, missing]), [1, 2]))
            padded.set_shape(row.shape)
            return [raw.Cast(padded, DstT=dtypes.int64), places]

        found = functional_ops.map_fn(unique, labels, dtype=[dtypes.int64, dtypes.int32])
        return found[0], found[1]


def _size(tensor: Any, axis: int) -> Any:
    """Return the size of an axis, a number if it is known and not 0."""
    known = tensor.shape[axis].value if tensor.shape.ndims is not None else None
    return known or raw.Shape(tensor)[axis]


def _parted(logits: Any, blank: Any) -> tuple[Any, Any, Any]:
    """Return the logits of the classes before the blank, of the blank, and of those behind it."""
    return logits[:, :, :blank], logits[:, :, blank : blank + 1], logits[:, :, blank + 1 :]


class _Places(NamedTuple):
    """A tensor for the labels, [batch, 1 + labels], and one for the blanks behind them."""

    label: Any
    blank: Any


def _loss_and_slope(logits: Any, labels: Any, label_length: Any, logit_length: Any) -> Any:
    """Return the loss [batch], and its gradient by the logits [time, batch, classes]."""
    kind = logits.dtype.as_numpy_dtype
    logs = raw.LogSoftmax(logits)
    classes = creation_ops.one_hot(labels, _size(logits, 2), dtype=logits.dtype)
    of_labels = raw.BatchMatMulV2(raw.Transpose(logs, [1, 0, 2]), classes, adj_y=True)
    of_labels = raw.Transpose(of_labels, [1, 0, 2])
    # No path returns to the start.
    seen = _Places(_padded(of_labels, [[0, 0], [0, 0], [1, 0]]), logs[:, :, :1])
    is_different = raw.Cast(raw.NotEqual(labels[:, 1:], labels[:, :-1]), DstT=logits.dtype)
    penalty = raw.PadV2(raw.Log(is_different), [[0, 0], [1, 0]], kind(0))
    penalty = penalty[:, : raw.Shape(labels)[1]]
    is_inside = counting_ops.sequence_mask(logit_length, _size(logits, 0))
    is_inside = raw.Transpose(is_inside, [1, 0])
    forward = _forward(seen, penalty, kind)
    backward, total = _backward(seen, penalty, _ends(label_length, labels, kind), is_inside)

    joint = _Places(*(raw.Add(one, other) for one, other in zip(forward, backward, strict=True)))
    every = reduce_ops.reduce_logsumexp(raw.ConcatV2(joint, 2), 2, keepdims=True)
    shares = _Places(*(raw.Exp(raw.Sub(each, every)) for each in joint))
    by_label = raw.Transpose(shares.label[:, :, 1:], [1, 0, 2])
    by_class = raw.Transpose(raw.BatchMatMulV2(by_label, classes), [1, 0, 2])
    by_blank = raw.Sum(shares.blank, [2], keep_dims=True)
    slope = raw.Sub(raw.Exp(logs), raw.ConcatV2([by_blank, by_class[:, :, 1:]], 2))
    mask = raw.ExpandDims(raw.Cast(is_inside, DstT=logits.dtype), 2)
    return raw.Neg(total), raw.Mul(slope, mask)


def _ends(label_length: Any, labels: Any, kind: Any) -> _Places:
    """Return the logarithms of the probabilities that a path ends at a place."""
    is_end = creation_ops.one_hot(label_length, _size(labels, 1) + 1, dtype=kind)
    ends = raw.Mul(raw.Sub(kind(1), is_end), kind(_UNLIKELY))
    return _Places(ends, ends)


def _forward(seen: _Places, penalty: Any, kind: Any) -> _Places:
    """Return the logarithms of the sums of all paths to a place, up to a number for each time."""
    width = _size(seen.label, 2)
    unlikely = raw.Fill(raw.Pack([_size(seen.label, 1), width]), kind(_UNLIKELY))
    start = raw.Mul(unlikely, raw.Cast(raw.Greater(raw.Range(0, width, 1), 0), DstT=unlikely.dtype))

    def step(held: _Places, log: _Places) -> _Places:
        entered = _sum(raw.Add(held.label[:, :-1], penalty), held.blank[:, :-1])
        label = raw.Add(_sum(held.label, _shifted(entered, True)), log.label)
        blank = raw.Add(_sum(held.blank, held.label), log.blank)
        return _Places(*_scaled(label, blank)[:2])

    found = functional_ops.scan(step, seen, _Places(start, unlikely), back_prop=False)
    return _Places(*found)


def _backward(seen: _Places, penalty: Any, ends: _Places, is_inside: Any) -> tuple[_Places, Any]:
    """Return the logarithms of the sums of all paths from a place at a time, up to a number for
    each time, and the logarithms of the sums of all paths [batch].
    """

    def step(held: Any, given: Any) -> Any:
        (last_label, last_blank, total), (label, blank, is_here) = held, given
        label, blank = raw.Add(last_label, label), raw.Add(last_blank, blank)
        next_label = label[:, 1:]
        from_label = _sum(label, blank, _shifted(raw.Add(next_label, penalty), False))
        from_blank = _sum(blank, _shifted(next_label, False))
        from_label, from_blank, scale = _scaled(from_label, from_blank)
        is_row = raw.ExpandDims(is_here, 1)
        return (
            raw.SelectV2(is_row, from_label, ends.label),
            raw.SelectV2(is_row, from_blank, ends.blank),
            raw.Add(total, raw.SelectV2(is_here, scale, raw.ZerosLike(scale))),
        )

    nothing = raw.ZerosLike(ends.label[:, 0])
    labels, blanks, totals = functional_ops.scan(
        step, (*seen, is_inside), (*ends, nothing), back_prop=False, reverse=True
    )
    # The paths after a time are those from the place at the next time.
    later = (
        raw.ConcatV2([found[1:], raw.ExpandDims(end, 0)], 0)
        for found, end in zip((labels, blanks), ends, strict=True)
    )
    return _Places(*later), raw.Add(labels[0, :, 0], totals[0])


def _padded(tensor: Any, widths: Any) -> Any:
    """Return a tensor with places that no path reaches."""
    return raw.PadV2(tensor, widths, tensor.dtype.as_numpy_dtype(-np.inf))


def _shifted(tensor: Any, is_forward: bool) -> Any:
    """Return a matrix with one more column, in front if `is_forward`."""
    return _padded(tensor, [[0, 0], [1, 0] if is_forward else [0, 1]])


def _sum(*logs: Any) -> Any:
    """Return the logarithm of the sum of numbers, which may all be 0."""
    largest = logs[0].dtype.as_numpy_dtype(logs[0].dtype.min)
    for each in logs:
        largest = raw.Maximum(each, largest)
    return raw.Add(largest, raw.Log(raw.AddN([raw.Exp(raw.Sub(each, largest)) for each in logs])))


def _scaled(label: Any, blank: Any) -> tuple[Any, Any, Any]:
    """Return the logarithms of numbers, divided by the largest of their row, and of the latter."""
    largest = raw.Maximum(raw.Max(label, [1]), raw.Max(blank, [1]))
    column = raw.ExpandDims(largest, 1)
    return raw.Sub(label, column), raw.Sub(blank, column), largest
