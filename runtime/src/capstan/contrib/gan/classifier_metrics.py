"""Scores and distances of generated images by a classifier
(contrib/gan/python/eval/python/classifier_metrics_impl.py).

A classifier is a function of a batch of images. `num_batches` is how many parts of the batch it
gets one after another, to save memory. Scores are computed in float64.
"""

import functools
from collections.abc import Callable
from typing import Any

from capstan.api import (
    array_ops,
    functional_ops,
    linear_algebra_ops,
    math_ops,
    matrix_ops,
    nn,
    reduce_ops,
)
from capstan.contrib.gan import classifier_graphs
from capstan.core import dtypes
from capstan.framework.raw import raw

_Classifier = Callable[[Any], Any]


def in_batches(images: Any, classifier_fn: _Classifier, num_batches: int) -> Any:
    """Return the outputs of the classifier for all images, part by part."""
    parts = array_ops.stack(array_ops.split(images, num_batches))
    outputs = functional_ops.map_fn(
        classifier_fn, parts, parallel_iterations=1, back_prop=False, swap_memory=True,
        name="RunClassifier",
    )  # fmt: skip
    return array_ops.concat(array_ops.unstack(outputs), 0)


def classifier_score(images: Any, classifier_fn: _Classifier, num_batches: int = 1) -> Any:
    """Return the score of images whose logits are those of the classifier (Salimans, 2016)."""
    return classifier_score_from_logits(in_batches(images, classifier_fn, num_batches))


def classifier_score_from_logits(logits: Any) -> Any:
    """Return exp of the mean divergence of each image's classes from those of all images.

    Raises:
        ValueError: the logits are no matrix.
    """
    logits.shape.assert_has_rank(2)
    wide = math_ops.cast(logits, dtypes.float64)
    classes = nn.softmax(wide)
    of_all = reduce_ops.reduce_mean(classes, 0)
    divergence = reduce_ops.reduce_sum(classes * (nn.log_softmax(wide) - raw.Log(of_all)), 1)
    return math_ops.cast(raw.Exp(reduce_ops.reduce_mean(divergence)), logits.dtype)


inception_score = functools.partial(
    classifier_score,
    classifier_fn=functools.partial(
        classifier_graphs.run_inception, output_tensor=classifier_graphs.INCEPTION_OUTPUT
    ),
)


def _square_root(matrix: Any) -> Any:
    """Return the square root of a symmetric matrix without negative eigenvalues."""
    values, left, right = linear_algebra_ops.svd(matrix)
    roots = raw.SelectV2(raw.Less(values, 1e-10), values, raw.Sqrt(values))
    return math_ops.matmul(math_ops.matmul(left, matrix_ops.diag(roots)), right, transpose_b=True)


def trace_sqrt_product(sigma: Any, sigma_v: Any) -> Any:
    """Return the trace of the square root of the product of two covariance matrices."""
    root = _square_root(sigma)
    # The product is not symmetric. This matrix is, and has the same eigenvalues.
    return matrix_ops.trace(_square_root(math_ops.matmul(root, math_ops.matmul(sigma_v, root))))


def frechet_classifier_distance(
    real_images: Any, generated_images: Any, classifier_fn: _Classifier, num_batches: int = 1
) -> Any:
    """Return the Fréchet distance of the classifier's outputs (Heusel and others, 2017)."""
    return frechet_classifier_distance_from_activations(
        in_batches(real_images, classifier_fn, num_batches),
        in_batches(generated_images, classifier_fn, num_batches),
    )


frechet_inception_distance = functools.partial(
    frechet_classifier_distance,
    classifier_fn=functools.partial(
        classifier_graphs.run_inception, output_tensor=classifier_graphs.INCEPTION_FINAL_POOL
    ),
)


def _wide(real: Any, generated: Any) -> tuple[Any, Any]:
    real.shape.assert_has_rank(2)
    generated.shape.assert_has_rank(2)
    return math_ops.cast(real, dtypes.float64), math_ops.cast(generated, dtypes.float64)


def _covariance(values: Any, mean: Any) -> Any:
    count = math_ops.cast(array_ops.shape(values)[0], dtypes.float64)
    centred = values - mean
    return math_ops.matmul(centred, centred, transpose_a=True) / (count - 1)


def frechet_classifier_distance_from_activations(
    real_activations: Any, generated_activations: Any
) -> Any:
    """Return |m1 - m2|^2 + tr(C1 + C2 - 2 (C1 C2)^(1/2)) of the rows of two matrices.

    The m are their means, and the C their unbiased covariances.

    Raises:
        ValueError: an argument is no matrix.
    """
    real, generated = _wide(real_activations, generated_activations)
    mean, of_generated = (reduce_ops.reduce_mean(each, 0) for each in (real, generated))
    sigma, sigma_w = _covariance(real, mean), _covariance(generated, of_generated)
    trace = matrix_ops.trace(sigma + sigma_w) - 2.0 * trace_sqrt_product(sigma, sigma_w)
    squares = reduce_ops.reduce_sum(raw.SquaredDifference(mean, of_generated))
    return math_ops.cast(trace + squares, real_activations.dtype)


def mean_only_frechet_classifier_distance_from_activations(
    real_activations: Any, generated_activations: Any
) -> Any:
    """Return the squared distance of the means of the rows of two matrices."""
    real, generated = _wide(real_activations, generated_activations)
    means = (reduce_ops.reduce_mean(each, 0) for each in (real, generated))
    squares = reduce_ops.reduce_sum(raw.SquaredDifference(*means))
    return math_ops.cast(squares, real_activations.dtype)


def diagonal_only_frechet_classifier_distance_from_activations(
    real_activations: Any, generated_activations: Any
) -> Any:
    """Return the Fréchet distance as if the columns were independent, with biased variances.

    Raises:
        ValueError: an argument is no matrix.
    """
    real, generated = _wide(real_activations, generated_activations)
    mean, variance = nn.moments(real, [0])
    other_mean, other = nn.moments(generated, [0])
    trace = reduce_ops.reduce_sum(variance + other - 2.0 * raw.Sqrt(variance * other))
    squares = reduce_ops.reduce_sum(raw.SquaredDifference(mean, other_mean))
    return math_ops.cast(trace + squares, real_activations.dtype)
