"""`tf.contrib.losses.metric_learning`: losses of distances between embeddings.

The formulas are those of contrib/losses/python/metric_learning/metric_loss_ops.py. There, a batch
has float32 embeddings of shape [batch, size], and int32 labels of shape [batch]. `cluster_loss`,
which needs scikit-learn, is not here.
"""

from typing import Any

from capstan.api import (
    array_ops,
    creation_ops,
    math_ops,
    matrix_ops,
    nn,
    reduce_ops,
    sparse_math_ops,
)
from capstan.api.absent import absent
from capstan.api.control_flow_ops import Print
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw
from capstan.framework.sparse_tensor import SparseTensor

__all__ = [
    "contrastive_loss",
    "lifted_struct_loss",
    "npairs_loss",
    "npairs_loss_multilabel",
    "triplet_semihard_loss",
]


def contrastive_loss(
    labels: Any, embeddings_anchor: Any, embeddings_positive: Any, margin: float = 1.0
) -> Any:
    """Return the mean loss of pairs, whose label is 1 if they belong together and 0 otherwise.

    A pair that belongs together costs the square of its distance d. Another pair costs
    max(margin - d, 0)**2 (Hadsell and others, 2006).
    """
    squares = math_ops.squared_difference(embeddings_anchor, embeddings_positive)
    distances = math_ops.sqrt(reduce_ops.reduce_sum(squares, 1))
    together = math_ops.cast(labels, distances.dtype)
    far = math_ops.square(math_ops.maximum(margin - distances, 0.0))
    pairs = together * math_ops.square(distances) + (1.0 - together) * far
    return reduce_ops.reduce_mean(pairs, name="contrastive_loss")


def triplet_semihard_loss(labels: Any, embeddings: Any, margin: float = 1.0) -> Any:
    """Return the mean loss of all pairs of one label (Schroff and others, 2015).

    Distances are squares. A pair of the distance d costs max(margin + d - n, 0). n is the smallest
    distance above d between the first of the pair and an example of another label. If there is
    none, n is the largest such distance.
    """
    distances = _distances(embeddings, squared=True)
    same = _same(labels)
    others = raw.LogicalNot(same)
    # The axes are: the first of a pair, the second of the pair, and an example of another label.
    rows = array_ops.expand_dims(distances, 1)
    farther = raw.Greater(rows, array_ops.expand_dims(distances, 2))
    eligible = raw.LogicalAnd(farther, array_ops.expand_dims(others, 1))
    is_found = reduce_ops.reduce_any(eligible, 2)
    outside = array_ops.squeeze(_masked_minimum(rows, math_ops.cast(eligible, dtypes.float32)), 2)
    inside = _masked_maximum(distances, math_ops.cast(others, dtypes.float32))
    inside += creation_ops.zeros_like(distances)
    negatives = raw.Select(is_found, outside, inside)
    pairs = _pairs(same)
    costs = math_ops.maximum((margin + distances - negatives) * pairs, 0.0)
    return math_ops.truediv(
        reduce_ops.reduce_sum(costs), reduce_ops.reduce_sum(pairs), name="triplet_semihard_loss"
    )


def lifted_struct_loss(labels: Any, embeddings: Any, margin: float = 1.0) -> Any:
    """Return the lifted structured loss (Song and others, 2015).

    A pair (i, j) of one label and of the distance d costs max(J, 0)**2 / 2, where J is d plus the
    logarithm of the sum of exp(margin - distance) from i and from j to all examples of other
    labels. The loss is the mean over the pairs, halved.
    """
    distances = _distances(embeddings, squared=False)
    same = _same(labels)
    others = math_ops.cast(raw.LogicalNot(same), dtypes.float32)
    nearness = margin - distances
    largest = _masked_maximum(nearness, others)
    largest = math_ops.maximum(largest, array_ops.transpose(largest))
    # [i, j, k]: exp(nearness of i and k - the largest of the pair), for each k of another label.
    exponents = array_ops.expand_dims(nearness, 1) - array_ops.expand_dims(largest, 2)
    kept = math_ops.exp(exponents) * array_ops.expand_dims(others, 1)
    sums = reduce_ops.reduce_sum(kept, 2)
    totals = largest + math_ops.log(sums + array_ops.transpose(sums)) + distances
    pairs = _pairs(same)
    costs = math_ops.square(math_ops.maximum(totals * pairs, 0.0))
    count = reduce_ops.reduce_sum(pairs) / 2.0
    return math_ops.truediv(0.25 * reduce_ops.reduce_sum(costs), count, name="liftedstruct_loss")


def npairs_loss(
    labels: Any,
    embeddings_anchor: Any,
    embeddings_positive: Any,
    reg_lambda: float = 0.002,
    print_losses: bool = False,
) -> Any:
    """Return the loss of pairs, whose labels have the shape [batch / 2] (Sohn, 2016).

    It is the cross entropy of the products of all anchors and positives, and `reg_lambda` / 4 times
    the mean squared norms. With `print_losses`, each step prints the two parts.
    """
    same = math_ops.cast(_same(labels), dtypes.float32)
    return _npairs(same, embeddings_anchor, embeddings_positive, reg_lambda, print_losses)


def npairs_loss_multilabel(
    sparse_labels: Any,
    embeddings_anchor: Any,
    embeddings_positive: Any,
    reg_lambda: float = 0.002,
    print_losses: bool = False,
) -> Any:
    """Return `npairs_loss` for examples with several labels.

    `sparse_labels` has a SparseTensor for each pair, with a vector of truth values for the labels.
    Two pairs belong together as much as they have labels in common.

    Raises:
        TypeError: a label is not a SparseTensor.
    """
    if not all(isinstance(each, SparseTensor) for each in sparse_labels):
        raise TypeError(f"sparse_labels must be a list of SparseTensors, but got {sparse_labels}")
    with scoped(None, "NpairsLossMultiLabel", ()):
        dense = [
            sparse_math_ops.sparse_tensor_to_dense(math_ops.cast(each, dtypes.float32))
            for each in sparse_labels
        ]
        rows = array_ops.stack([array_ops.reshape(each, (-1,)) for each in dense])
        common = math_ops.matmul(rows, rows, transpose_b=True)
        return _npairs(common, embeddings_anchor, embeddings_positive, reg_lambda, print_losses)


def _npairs(
    common: Any, anchors: Any, positives: Any, reg_lambda: float, print_losses: bool
) -> Any:
    norms = [
        reduce_ops.reduce_mean(reduce_ops.reduce_sum(math_ops.square(each), 1))
        for each in (anchors, positives)
    ]
    l2loss = math_ops.multiply(0.25 * reg_lambda, norms[0] + norms[1], name="l2loss")
    logits = math_ops.matmul(anchors, positives, transpose_b=True)
    shares = common / reduce_ops.reduce_sum(common, 1, keepdims=True)
    costs = nn.softmax_cross_entropy_with_logits(logits=logits, labels=shares)
    entropy = reduce_ops.reduce_mean(costs, name="xentropy")
    if print_losses:
        entropy = Print(entropy, ["cross entropy:", entropy, "l2loss:", l2loss])
    return l2loss + entropy


def _same(labels: Any) -> Any:
    """Return whether two examples have one label: truth values of shape [batch, batch].

    Raises:
        ValueError: the labels are not a vector.
    """
    labels = convert.convert_to_tensor(labels)
    if labels.shape.ndims not in (None, 1):
        raise ValueError(f"labels must be a vector, but have the shape {labels.shape}")
    column = array_ops.reshape(labels, (-1, 1))
    return raw.Equal(column, array_ops.transpose(column))


def _pairs(same: Any) -> Any:
    """Return 1 for each pair of different examples with one label, and 0 elsewhere."""
    others = 1.0 - matrix_ops.eye(array_ops.shape(same)[0])
    return math_ops.cast(same, dtypes.float32) * others


def _distances(embeddings: Any, *, squared: bool) -> Any:
    """Return the distances of all pairs, or their squares. The diagonal is exactly 0."""
    embeddings = convert.convert_to_tensor(embeddings)
    norms = reduce_ops.reduce_sum(math_ops.square(embeddings), 1, keepdims=True)
    products = math_ops.matmul(embeddings, embeddings, transpose_b=True)
    # Rounding may make a small distance negative.
    squares = math_ops.maximum(norms + array_ops.transpose(norms) - 2.0 * products, 0.0)
    is_zero = math_ops.cast(raw.LessEqual(squares, 0.0), dtypes.float32)
    # The square root has no gradient at 0.
    found = squares if squared else math_ops.sqrt(squares + is_zero * 1e-16)
    found *= 1.0 - is_zero
    return found * (1.0 - matrix_ops.eye(array_ops.shape(embeddings)[0]))


def _masked_maximum(data: Any, mask: Any) -> Any:
    """Return the maximum of each row where `mask` is 1, or the minimum of the row if it is 0."""
    least = reduce_ops.reduce_min(data, -1, keepdims=True)
    return reduce_ops.reduce_max((data - least) * mask, -1, keepdims=True) + least


def _masked_minimum(data: Any, mask: Any) -> Any:
    """Return the minimum of each row where `mask` is 1, or the maximum of the row if it is 0."""
    most = reduce_ops.reduce_max(data, -1, keepdims=True)
    return reduce_ops.reduce_min((data - most) * mask, -1, keepdims=True) + most


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.losses.metric_learning", name)


def __dir__() -> list[str]:
    return sorted(__all__)
