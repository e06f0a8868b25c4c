"""The beam search of connectionist temporal classification (core/util/ctc/ctc_beam_search.h).

A beam is a sequence of labels. Its probability is that of all paths with these labels: of those
that end with a blank, and of those that end with the last label. All probabilities are logarithms.
A search keeps the most likely beams of each time.
"""

import heapq
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from capstan.core.arrays import Array
from capstan.kernels import ctc
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid

_NEVER = -math.inf


def _either(one: float, other: float) -> float:
    """Return the probability of one event or the other."""
    high, low = max(one, other), min(one, other)
    return high if low == _NEVER else high + math.log1p(math.exp(low - high))


@dataclass(eq=False, slots=True)
class _Beam:
    """The labels of the parent and one more label. `before` is the time before the current one."""

    parent: "_Beam | None"
    label: int
    blank: float = _NEVER
    ends: float = _NEVER
    total: float = _NEVER
    blank_before: float = _NEVER
    total_before: float = _NEVER
    children: dict[int, "_Beam"] = field(default_factory=dict)

    def forget(self) -> None:
        """Leave the search."""
        self.blank = self.ends = self.total = _NEVER

    def go_on(self, logs: Sequence[float]) -> None:
        """Add a blank or the last label to the paths of the beam."""
        if self.parent is not None:
            if self.parent.total != _NEVER:
                is_same = self.label == self.parent.label
                before = self.parent.blank_before if is_same else self.parent.total_before
                self.ends = _either(self.ends, before)
            self.ends += logs[self.label]
        self.blank = self.total_before + logs[-1]
        self.total = _either(self.blank, self.ends)

    def labels(self, *, merges: bool) -> list[int]:
        """Return the labels from the first to the last, without equal neighbours if `merges`."""
        found: list[int] = []
        beam = self
        while beam.parent is not None:
            found.append(beam.label)
            beam = beam.parent
        found.reverse()
        return [key for key, _ in itertools.groupby(found)] if merges else found


class _Kept:
    """The most likely beams of a time, at most `width` of them."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._heap: list[tuple[float, int, _Beam]] = []
        self._numbers = itertools.count()

    def least(self) -> float:
        """Return the probability that a new beam must exceed."""
        return self._heap[0][0] if len(self._heap) == self._width else _NEVER

    def add(self, beam: _Beam) -> None:
        """Keep a beam. If there are too many, the least likely one leaves the search."""
        entry = (beam.total, next(self._numbers), beam)
        if len(self._heap) < self._width:
            heapq.heappush(self._heap, entry)
        else:
            heapq.heapreplace(self._heap, entry)[2].forget()

    def best_first(self) -> list[_Beam]:
        in_order = sorted(self._heap, key=lambda entry: (-entry[0], entry[1]))
        return [beam for _, _, beam in in_order]


def _searched(logs: Array, width: int) -> list[_Beam]:
    """Return the most likely beams, best first, of the probabilities [time, class]."""
    root = _Beam(None, -1, blank=0.0, total=0.0)
    beams = [root]
    for row in logs:
        known = row.tolist()
        for beam in beams:
            beam.blank_before, beam.total_before = beam.blank, beam.total
        # All beams of the time before are read before any of them changes or leaves.
        kept = _Kept(width)
        for beam in beams:
            beam.go_on(known)
            kept.add(beam)
        for beam in beams:
            if beam.total_before > kept.least():
                _extend(beam, row[:-1], kept)
        beams = kept.best_first()
    return beams


def _extend(beam: _Beam, logs: Array, kept: _Kept) -> None:
    """Keep the likely ones of the beams that have one more label than a beam."""
    totals = logs + beam.total_before
    if beam.label >= 0:
        # Without a blank between them, two equal labels would be one.
        totals[beam.label] = logs[beam.label] + beam.blank_before
    likely = np.flatnonzero(totals > kept.least()).tolist()
    for label in sorted(beam.children.keys() | likely):
        total = float(totals[label])
        child = beam.children.get(label)
        if child is not None and child.total != _NEVER:
            continue
        if total <= kept.least():
            if child is not None:
                # It has left the search at this time, and may not be extended any more.
                child.blank_before = child.total_before = _NEVER
            continue
        if child is None:
            child = beam.children[label] = _Beam(beam, label)
        child.blank, child.ends, child.total = _NEVER, total, total
        kept.add(child)


def _decode(node: NodeContext) -> Function:
    width, top, merges = (node.attrs[key] for key in ("beam_width", "top_paths", "merge_repeated"))

    def decode(inputs: Array, lengths: Array) -> tuple[Array, ...]:
        ctc.check_decoded(inputs, lengths)
        paths: list[list[list[int]]] = [[] for _ in range(top)]
        scores = np.zeros((len(lengths), top), inputs.dtype)
        for number, length in enumerate(lengths.tolist()):
            logits = inputs[: max(length, 0), number].astype(np.float64)
            shifted = logits - logits.max(1, keepdims=True)
            logs = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
            beams = _searched(logs, width)[:top]
            if len(beams) < top:
                raise invalid("Less leaves in the beam search than requested.")
            for at, beam in enumerate(beams):
                paths[at].append(beam.labels(merges=merges))
                scores[number, at] = beam.total
        parts = zip(*map(_sparse, paths), strict=True)
        return (*itertools.chain.from_iterable(parts), scores)

    return decode


def _sparse(sequences: list[list[int]]) -> tuple[Array, Array, Array]:
    """Return the indices, values and shape of a SparseTensor with a row for each sequence."""
    places = [(row, at) for row, labels in enumerate(sequences) for at in range(len(labels))]
    return (
        np.array(places, np.int64).reshape(-1, 2),
        np.array([label for labels in sequences for label in labels], np.int64),
        np.array([len(sequences), max(map(len, sequences), default=0)], np.int64),
    )


register(Kernel("CTCBeamSearchDecoder", _decode))
