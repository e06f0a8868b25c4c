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


def _steps(states: Array, blank: int, *, merges: bool) -> tuple[Array, Array]:
    """Return which states a path may stay in, and which it may enter past the state before.

    A path passes over a blank between two labels, unless they are equal and would be merged.
    """
    is_label = states != blank
    can_stay = ~is_label | merges
    can_pass = np.zeros(len(states), bool)
    can_pass[2:] = is_label[2:] & ((states[2:] != states[:-2]) | (not merges))
    return can_stay, can_pass


def _behind(values: Array, count: int) -> Array:
    """Return the values `count` states before, and log(0) where there are none."""
    return np.concatenate([np.full(count, -np.inf), values])[: len(values)]


def _ahead(values: Array, count: int) -> Array:
    return np.concatenate([values, np.full(count, -np.inf)])[count:]


def _sums(logs: Array, states: Array, blank: int, *, merges: bool) -> Array:
    """Return alpha + beta for the logarithms of the probabilities [time, classes]."""
    never = -np.inf
    can_stay, can_pass = _steps(states, blank, merges=merges)
    emitted = logs[:, states]
    alpha: Array = np.full(emitted.shape, never)
    alpha[0, :2] = emitted[0, :2]
    for time in range(1, len(logs)):
        last = alpha[time - 1]
        moved = np.logaddexp(np.where(can_stay, last, never), _behind(last, 1))
        passed = np.where(can_pass, _behind(last, 2), never)
        alpha[time] = emitted[time] + np.logaddexp(moved, passed)
    beta: Array = np.full(emitted.shape, never)
    beta[-1, -2:] = 0.0
    for time in range(len(logs) - 2, -1, -1):
        rest = beta[time + 1] + emitted[time + 1]
        moved = np.logaddexp(np.where(can_stay, rest, never), _ahead(rest, 1))
        passed = _ahead(np.where(can_pass, rest, never), 2)
        beta[time] = np.logaddexp(moved, passed)
    total: Array = alpha + beta
    return total


def _loss_of(logits: Array, labels: Sequence[int], *, merges: bool) -> tuple[float, Array]:
    """Return the loss of a sequence [time, classes], and its gradient by the logits."""
    precise = np.asarray(logits, np.float64)
    shifted = precise - precise.max(1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    blank = logits.shape[1] - 1
    states = np.full(2 * len(labels) + 1, blank)
    states[1::2] = labels
    sums = _sums(logs, states, blank, merges=merges)
    total = np.logaddexp.reduce(sums[0])
    slope = np.exp(logs)
    if np.isfinite(total):
        shares = np.exp(sums - total)
        for state, label in enumerate(states.tolist()):
            slope[:, label] -= shares[:, state]
    return -total, slope


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
            if is_longer or not length:
                continue  # the loss is 0
            logits = inputs[:length, number]
            losses[number], slopes[:length, number] = _loss_of(logits, labels, merges=merges)
        return losses, slopes

    return loss


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
register(Kernel("CTCGreedyDecoder", _decode))
