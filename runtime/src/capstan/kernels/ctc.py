"""Kernels of connectionist temporal classification (core/kernels/ctc_loss_op.cc,
ctc_decoder_ops.cc, core/util/ctc/ctc_loss_calculator.h).

A path names a class for each time. Its labels are the classes without repetitions, and then without
blanks, which are the last class. The loss is -log of the probability of all paths with some labels.

The states of a path are the labels with a blank before, between and after them. `alpha[t, u]` is
the logarithm of the probability that paths are in state u at time t, and `beta[t, u]` that of the
rest of the paths from there.
"""

import itertools
from collections.abc import Sequence

import numpy as np

from capstan import errors
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid


def check(inputs: Array, lengths: Array) -> None:
    """Raise InvalidArgumentError unless the inputs have three axes and the lengths one."""
    if inputs.ndim != 3:
        raise invalid(f"inputs is not a 3-Tensor, but has shape {show(inputs.shape)}")
    if lengths.ndim != 1:
        raise invalid(f"sequence_length is not a vector, but has shape {show(lengths.shape)}")


def mismatch_of(inputs: Array, lengths: Array) -> str | None:
    """Return the message for another number of lengths than of sequences, or None."""
    if len(lengths) == inputs.shape[1]:
        return None
    return (
        f"len(sequence_length) != batch_size.  len(sequence_length):  {len(lengths)} "
        f"batch_size: {inputs.shape[1]}"
    )


def check_decoded(inputs: Array, lengths: Array) -> None:
    """Check the arguments of a decoder.

    Raises:
        InvalidArgumentError: there is no time, or the inputs or lengths have the wrong rank.
        FailedPreconditionError: there is not one length for each sequence, or a length is more than
            the time.
    """
    check(inputs, lengths)
    time = len(inputs)
    if not time:
        raise invalid("max_time is 0")
    message = mismatch_of(inputs, lengths)
    for number in np.flatnonzero(lengths > time)[:1].tolist():
        message = message or f"sequence_length({number}) <= {time}"
    if message is not None:
        raise errors.FailedPreconditionError(None, None, message)


class _Paths:
    """The states of the paths of several sequences: [sequences, states].

    Sequences with fewer states than others have blanks behind them, which lead to no end.
    """

    def __init__(self, labels: Sequence[Sequence[int]], blank: int, *, merges: bool) -> None:
        self.counts = np.array([2 * len(own) + 1 for own in labels])
        self.states = np.full((len(labels), self.counts.max()), blank)
        for row, own in zip(self.states, labels, strict=True):
            row[1 : 2 * len(own) : 2] = own
        is_label = self.states != blank
        self.can_stay = ~is_label | merges
        # A path passes over a blank between two labels, unless they are equal and would be merged.
        self.can_pass = np.zeros(self.states.shape, bool)
        differs = self.states[:, 2:] != self.states[:, :-2]
        self.can_pass[:, 2:] = is_label[:, 2:] & (differs | (not merges))


def _sums(logs: Array, paths: _Paths, lengths: Array) -> Array:
    """Return alpha + beta for the logarithms of the probabilities [time, sequences, classes]."""
    never = -np.inf
    time, batch, _ = logs.shape
    emitted = logs[:, np.arange(batch)[:, np.newaxis], paths.states]
    size = emitted.shape[2]
    # Two states that no path enters stand before the first one, and behind the last one.
    alpha = np.full((time, batch, size + 2), never)
    alpha[0, :, 2:4] = emitted[0, :, :2]
    for at in range(1, time):
        last = alpha[at - 1]
        moved = np.logaddexp(np.where(paths.can_stay, last[:, 2:], never), last[:, 1:-1])
        passed = np.where(paths.can_pass, last[:, :-2], never)
        alpha[at, :, 2:] = emitted[at] + np.logaddexp(moved, passed)
    beta = np.full(emitted.shape, never)
    ending: dict[int, list[int]] = {}
    for number, length in enumerate(lengths.tolist()):
        ending.setdefault(length, []).append(number)
    rest, passing = np.full((2, batch, size + 2), never)
    for at in range(time - 1, -1, -1):
        if at < time - 1:
            rest[:, :-2] = beta[at + 1] + emitted[at + 1]
            passing[:, :-2] = np.where(paths.can_pass, rest[:, :-2], never)
            moved = np.logaddexp(np.where(paths.can_stay, rest[:, :-2], never), rest[:, 1:-1])
            beta[at] = np.logaddexp(moved, passing[:, 2:])
        for number in ending.get(at + 1, ()):
            beta[at, number] = never
            beta[at, number, max(paths.counts[number] - 2, 0) : paths.counts[number]] = 0.0
    total: Array = alpha[:, :, 2:] + beta
    return total


def _losses(
    logits: Array, labels: Sequence[Sequence[int]], lengths: Array, *, merges: bool
) -> tuple[Array, Array]:
    """Return the losses of sequences [time, sequences, classes], and their gradients by the logits.

    A step for all sequences takes about as long as one for a single sequence.
    """
    is_in_time = np.arange(len(logits))[:, np.newaxis] < lengths
    precise = np.where(is_in_time[..., np.newaxis], logits, 0.0).astype(np.float64, copy=False)
    shifted = precise - precise.max(2, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(2, keepdims=True))
    paths = _Paths(labels, logits.shape[2] - 1, merges=merges)
    sums = _sums(logs, paths, lengths)
    totals = np.logaddexp.reduce(sums[0], 1)
    slopes = np.exp(logs)
    for number in np.flatnonzero(np.isfinite(totals)).tolist():
        shares = np.exp(sums[:, number] - totals[number])
        for state, label in enumerate(paths.states[number, : paths.counts[number]].tolist()):
            slopes[:, number, label] -= shares[:, state]
    return -totals, slopes * is_in_time[..., np.newaxis]


def _labels(node: NodeContext, batch: int, classes: int, given: Sequence[int]) -> list[int]:
    """Return the labels of a sequence before the first blank.

    Raises:
        InvalidArgumentError: there is no label, or one that follows a blank or is negative.
    """
    if not given:
        raise invalid(f"Labels length is zero in batch {batch}")
    collapses = node.attrs["preprocess_collapse_repeated"]
    kept = [
        label for at, label in enumerate(given)
        if not (collapses and at and label == given[at - 1])
    ]  # fmt: skip
    labels = [label for label in kept if label < classes - 1]
    about = f"batch: {batch} num_classes: {classes} labels: {','.join(map(str, given))}"
    if labels != kept[: len(labels)]:
        raise invalid(
            f"Saw a non-null label (index >= num_classes - 1) following a null label, {about}"
        )
    if any(label < 0 for label in labels):
        raise invalid(f"All labels must be nonnegative integers, {about}")
    return labels


def _grouped(indices: Array, values: Array, batch: int) -> list[list[int]]:
    """Return the labels of each sequence of the batch.

    Raises:
        InvalidArgumentError: the labels are no matrix of sequences of the batch.
    """
    if indices.ndim != 2 or values.ndim != 1 or len(indices) != len(values):
        raise invalid(
            "labels_indices and labels_values must be a matrix and a vector with the same number "
            f"of rows, but have shapes {show(indices.shape)} and {show(values.shape)}"
        )
    if indices.shape[1] < 1:
        raise invalid("labels_indices second dimension must be >= 1")
    found: list[list[int]] = [[] for _ in range(batch)]
    for number, label in zip(indices[:, 0].tolist(), values.tolist(), strict=True):
        if not 0 <= number < batch:
            raise invalid(f"labels batch index must be between 0 and {batch} but saw: {number}")
        found[number].append(label)
    return found


def _check_order(indices: Array) -> None:
    places = list(map(tuple, indices.tolist()))
    if any(one >= other for one, other in itertools.pairwise(places)):
        raise invalid("label SparseTensor is not valid: its indices are out of order or repeated")


def _loss(node: NodeContext) -> Function:
    merges = node.attrs["ctc_merge_repeated"]
    ignores_longer = node.attrs["ignore_longer_outputs_than_inputs"]

    def loss(inputs: Array, indices: Array, values: Array, lengths: Array) -> tuple[Array, Array]:
        check(inputs, lengths)
        mismatch = mismatch_of(inputs, lengths)
        if mismatch is not None:
            raise invalid(mismatch)
        time, batch, classes = inputs.shape
        if not batch:
            raise invalid("batch_size must not be 0")
        given = _grouped(indices, values, batch)
        _check_order(indices)
        losses, slopes = np.zeros(batch, inputs.dtype), np.zeros_like(inputs)
        labels_of: dict[int, list[int]] = {}
        for number, length in enumerate(lengths.tolist()):
            if not 0 <= length <= time:
                raise invalid(f"sequence_length({number}) <= {time}")
            labels = _labels(node, number, classes, given[number])
            is_longer = len(labels) > length
            if is_longer and not ignores_longer:
                raise invalid(
                    "Not enough time for target transition sequence (required: "
                    f"{len(labels)}, available: {length}){number}You can turn this error into a "
                    "warning by using the flag ignore_longer_outputs_than_inputs"
                )
            if not is_longer and length:  # otherwise the loss is 0
                labels_of[number] = labels
        if labels_of:
            some = list(labels_of)
            losses[some], slopes[:, some] = _losses(
                inputs[:, some], list(labels_of.values()), lengths[some], merges=merges
            )
        return losses, slopes

    return loss


def _loss_of_first_blank(node: NodeContext) -> Function:
    """Return the function of the loss whose blank is the first class, and not the last."""
    loss = _loss(node)

    def of_first_blank(
        inputs: Array, indices: Array, values: Array, lengths: Array
    ) -> tuple[Array, Array]:
        # A scalar has no last axis to roll, and `loss` refuses it.
        turned = np.roll(inputs, -1, -1) if inputs.ndim else inputs
        losses, slopes = loss(turned, indices, values - 1, lengths)
        return losses, np.roll(slopes, 1, -1)

    return of_first_blank


def _decode(node: NodeContext) -> Function:
    merges = node.attrs["merge_repeated"]

    def decode(inputs: Array, lengths: Array) -> tuple[Array, Array, Array, Array]:
        check_decoded(inputs, lengths)
        _, batch, classes = inputs.shape
        best, scores = inputs.argmax(2), -inputs.max(2)
        places: list[tuple[int, int]] = []
        decoded: list[int] = []
        longest, sums = 0, np.zeros((batch, 1), inputs.dtype)
        for number, length in enumerate(lengths.tolist()):
            path = best[: max(length, 0), number].tolist()
            labels = [
                label for at, label in enumerate(path)
                if label != classes - 1 and not (merges and at and label == path[at - 1])
            ]  # fmt: skip
            places += [(number, at) for at in range(len(labels))]
            decoded += labels
            longest = max(longest, len(labels))
            sums[number] = scores[: max(length, 0), number].sum()
        return (
            np.array(places, np.int64).reshape(-1, 2),
            np.array(decoded, np.int64),
            np.array([batch, longest], np.int64),
            sums,
        )

    return decode


register(Kernel("CTCLoss", _loss))
register(Kernel("CTCLossV2", _loss_of_first_blank))
register(Kernel("CTCGreedyDecoder", _decode))
