"""Kernels of stochastic dual coordinate ascent (core/kernels/sdca_{ops,internal}.cc).

They run on the host, as in TensorFlow. A step visits the examples of a batch one after another, in
random order.
"""

import abc
from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.core import attr_value, cityhash, shapes
from capstan.core.arrays import Array
from capstan.kernels import dual_losses
from capstan.kernels.arithmetic import constantly
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.resources import variable

_COUNTS = ("num_sparse_features", "num_sparse_features_with_values", "num_dense_features")


def _optimize(node: NodeContext) -> Function:
    sparse, valued, dense = (int(node.attrs[name]) for name in _COUNTS)
    if not sparse + dense:
        raise invalid("Requires at least one feature to train.")
    sizes = (sparse, sparse, valued, dense, 1, 1, sparse, sparse, dense, 1)
    loss = dual_losses.LOSSES[attr_value.text(node.attrs["loss_type"])]
    is_adaptive = bool(node.attrs.get("adaptive", node.attrs.get("adaptative")))
    l1, l2 = float(node.attrs["l1"]), float(np.float32(node.attrs["l2"]))
    partitions = int(node.attrs["num_loss_partitions"])
    random = np.random.default_rng()

    def optimize(*inputs: Array) -> tuple[Array, ...]:
        ends = np.cumsum(sizes).tolist()
        groups = [inputs[end - size : end] for end, size in zip(ends, sizes, strict=True)]
        rows, columns, values, matrices, (weights,), (labels,), ids, held, dense_held, states = (
            groups
        )
        state = np.array(states[0], np.float32)
        if state.shape != (len(weights), 4):
            raise invalid(
                f"Expected shape {shapes.show((len(weights), 4))} for example_state_data, got "
                f"{shapes.show(state.shape)}"
            )
        targets = _converted(labels, loss)
        parts: list[_Columns] = [
            _SparseColumns(*column, values[index] if index < valued else None, len(weights))
            for index, column in enumerate(zip(rows, columns, ids, held, strict=True))
        ]
        parts += [_DenseColumns(*each) for each in zip(matrices, dense_held, strict=True)]
        problem = _Problem(parts, loss, l1 / l2, l2, partitions)
        order = problem.sampled(weights, targets, state, random) if is_adaptive else None
        if order is None:
            order = random.permutation(len(weights))
        for example in order.tolist():
            problem.visit(example, float(targets[example]), float(weights[example]), state)
        return (state, *(part.change for part in parts))

    return optimize


def _converted(labels: Array, loss: dual_losses.Loss) -> Array:
    """Return labels 0 and 1 as -1 and 1, if the loss takes classes."""
    if loss.has_classes:
        wrong = labels[(labels != 0) & (labels != 1)]
        if wrong.size:
            raise invalid(
                "Only labels of 0.0 or 1.0 are supported right now. Found example with label: "
                f"{wrong[0]:g}"
            )
        return np.where(labels == 0, np.float32(-1), np.float32(1))
    if loss.has_counts and (labels < 0).any():
        raise invalid(
            "Only non-negative labels can be used with the Poisson log loss. Found example with "
            f"label: {labels[labels < 0][0]:g}"
        )
    return labels


class _Columns(abc.ABC):
    """A group of features of all examples, its weights, and how they change in this step."""

    held: Array
    change: Array
    norms: Array
    """The sum of the squares of the features of each example."""

    @abc.abstractmethod
    def of(self, example: int) -> tuple[Any, Array]:
        """Return the places of the weights of an example's features, and the features."""


class _SparseColumns(_Columns):
    def __init__(
        self,
        examples: Array,
        features: Array,
        ids: Array,
        held: Array,
        values: Array | None,
        count: int,
    ) -> None:
        self.held, self.change = held.reshape(-1), np.zeros_like(held)
        order = np.argsort(ids, kind="stable")
        places = np.searchsorted(ids, features, sorter=order)
        found = order[np.minimum(places, max(len(ids) - 1, 0))] if len(ids) else places
        if features.size and (not len(ids) or (ids[found] != features).any()):
            wrong = features[0] if not len(ids) else features[ids[found] != features][0]
            raise invalid(f"Found sparse feature indices out of valid range: {wrong}")
        pairs = np.stack([examples, features])
        if features.size and np.unique(pairs, axis=1).shape[1] != features.size:
            raise invalid("Duplicate index in sparse vector.")
        self._places = found
        self._values = np.ones(len(features)) if values is None else values.astype(np.float64)
        self._starts = np.searchsorted(examples, np.arange(count + 1))
        self.norms = np.bincount(examples, self._values**2, count)[:count]

    def of(self, example: int) -> tuple[Any, Array]:
        part = slice(self._starts[example], self._starts[example + 1])
        return self._places[part], self._values[part]


class _DenseColumns(_Columns):
    def __init__(self, matrix: Array, held: Array) -> None:
        self.held, self.change = held.reshape(-1), np.zeros_like(held)
        if matrix.shape[1] > len(self.held):
            raise invalid(f"More dense features than we have parameters for: {matrix.shape[1]}")
        self._matrix = matrix
        self.norms = (matrix.astype(np.float64) ** 2).sum(1)

    def of(self, example: int) -> tuple[Any, Array]:
        return slice(self._matrix.shape[1]), self._matrix[example]


class _Problem:
    """The examples of a batch, with the loss and the regularization."""

    def __init__(
        self,
        parts: Sequence[_Columns],
        loss: dual_losses.Loss,
        shrinkage: float,
        l2: float,
        partitions: int,
    ) -> None:
        self._parts, self._loss, self._shrinkage = parts, loss, shrinkage
        self._l2, self._partitions = l2, partitions
        self._norms: Array = np.sum([part.norms for part in parts], axis=0)

    def logits(self, example: int) -> tuple[float, float]:
        """Return the logit of an example, with the weights as they are and from before the step."""
        now = before = 0.0
        for part in self._parts:
            places, features = part.of(example)
            held = part.held[places]
            moved = held + part.change.reshape(-1)[places] * self._partitions
            before += float(np.dot(features, self._shrunk(held)))
            now += float(np.dot(features, self._shrunk(moved)))
        return now, before

    def visit(self, example: int, label: float, weight: float, state: Array) -> None:
        """Move the dual variable of an example, and the weights with it."""
        dual = float(state[example, 0])
        now, before = self.logits(example)
        norm = float(self._norms[example]) / self._l2
        updated = self._loss.updated(self._partitions, label, weight, dual, now, norm)
        step = (updated - dual) * weight / self._l2
        for part in self._parts:
            places, features = part.of(example)
            change = part.change.reshape(-1)
            change[places] += features * step
        state[example] = (
            updated,
            self._loss.primal(before, label, weight),
            self._loss.dual(dual, label, weight),
            weight,
        )

    def sampled(self, weights: Array, labels: Array, state: Array, random: Any) -> Array | None:
        """Return examples in a random order in which those far from the optimum come often.

        An example that was picked is picked again with a tenth of its probability. Return None if
        all examples are at the optimum.
        """
        count = len(weights)
        residuals = [
            state[each, 0] + self._loss.slope(self.logits(each)[0], float(labels[each]))
            for each in range(count)
        ]
        spread = np.sqrt(self._norms + self._l2 * self._loss.smoothness)
        shares = weights * spread * np.abs(residuals)
        total = shares.sum()
        if not total > 0:
            return None
        picked = np.zeros(count, int)
        order: list[int] = []
        for example in random.choice(count, 2 * count, p=shares / total).tolist():
            if len(order) == count:
                break
            if random.random() <= 0.1 ** picked[example]:
                picked[example] += 1
                order.append(example)
        unseen = np.flatnonzero(picked == 0)
        unseen = unseen[np.argsort(-shares[unseen], kind="stable")]
        return np.array([*order, *unseen[: count - len(order)]], int)

    def _shrunk(self, weights: Array) -> Array:
        return _shrunk(weights, self._shrinkage)


def _shrunk(weights: Array, shrinkage: float) -> Array:
    """Return weights that are nearer to 0 by `shrinkage`, the effect of the l1 penalty."""
    if not shrinkage:
        return weights
    found: Array = np.sign(weights) * np.maximum(np.abs(weights) - weights.dtype.type(shrinkage), 0)
    return found


def _shrink(node: NodeContext) -> Function:
    shrinkage = float(node.attrs["l1"]) / float(node.attrs["l2"])

    def shrink(*cells: variable.Variable) -> None:
        for cell in cells:
            with cell.lock:
                weights = cell.writable()
                weights[...] = _shrunk(weights, shrinkage)

    return shrink


def _fingerprints(texts: Array) -> Array:
    if texts.ndim != 1:
        raise invalid(f"Input must be a vector, got shape {shapes.show(texts.shape)}")
    found = np.zeros((len(texts), 2), np.uint64)
    for index, text in enumerate(texts.tolist()):
        low, high = cityhash.fingerprint128(text)
        # 0 and 1 mark the empty places of tables.
        found[index] = low if low >= 2 else (low - 2) & ((1 << 64) - 1), high
    return found.view(np.int64)


for _op in ("SdcaOptimizer", "SdcaOptimizerV2"):
    register(Kernel(_op, _optimize))
register(Kernel("SdcaShrinkL1", _shrink))
register(Kernel("SdcaFprint", constantly(_fingerprints)))
