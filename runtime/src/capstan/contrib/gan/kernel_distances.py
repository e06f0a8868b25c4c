"""The kernel distance of images (contrib/gan/python/eval/python/classifier_metrics_impl.py).

It is the mean discrepancy of a classifier's outputs by the kernel (x y / d + 1)^3 of vectors of d
elements (Binkowski and others, 2018). Unlike the Fréchet distance, it has no bias.
"""

import functools
from typing import Any

from capstan.api import (
    array_ops,
    functional_ops,
    math_ops,
    matrix_ops,
    reduce_ops,
)
from capstan.contrib.gan import classifier_graphs, classifier_metrics
from capstan.core import dtypes
from capstan.framework.raw import raw


def kernel_classifier_distance_and_std(
    real_images: Any,
    generated_images: Any,
    classifier_fn: Any,
    num_classifier_batches: int = 1,
    max_block_size: int = 1024,
    dtype: Any = None,
) -> tuple[Any, Any]:
    """Return the distance of the classifier's outputs, and its standard error."""
    return kernel_classifier_distance_and_std_from_activations(
        classifier_metrics.in_batches(real_images, classifier_fn, num_classifier_batches),
        classifier_metrics.in_batches(generated_images, classifier_fn, num_classifier_batches),
        max_block_size,
        dtype,
    )


def kernel_classifier_distance(
    real_images: Any,
    generated_images: Any,
    classifier_fn: Any,
    num_classifier_batches: int = 1,
    max_block_size: int = 1024,
    dtype: Any = None,
) -> Any:
    """Return the distance of the classifier's outputs."""
    return kernel_classifier_distance_and_std(
        real_images, generated_images, classifier_fn, num_classifier_batches, max_block_size, dtype
    )[0]


def kernel_classifier_distance_from_activations(
    real_activations: Any,
    generated_activations: Any,
    max_block_size: int = 1024,
    dtype: Any = None,
) -> Any:
    """Return the distance of the rows of two matrices."""
    return kernel_classifier_distance_and_std_from_activations(
        real_activations, generated_activations, max_block_size, dtype
    )[0]


def kernel_classifier_distance_and_std_from_activations(
    real_activations: Any,
    generated_activations: Any,
    max_block_size: int = 1024,
    dtype: Any = None,
) -> tuple[Any, Any]:
    """Return the mean distance of blocks of rows of two matrices, and its standard error.

    A block has at most `max_block_size` rows. The error of one block is NaN. `dtype` is that of the
    computation, by default that of the matrices.

    Raises:
        ValueError: an argument is no matrix, or the numbers of columns differ.
    """
    real_activations.shape.assert_has_rank(2)
    generated_activations.shape.assert_has_rank(2)
    real_activations.shape[1:].assert_is_compatible_with(generated_activations.shape[1:])
    kind = real_activations.dtype if dtype is None else dtypes.as_dtype(dtype)
    real, generated = (
        math_ops.cast(each, kind) for each in (real_activations, generated_activations)
    )
    counts = [array_ops.shape(each)[0] for each in (real, generated)]
    blocks = (raw.Maximum(*counts) + (max_block_size - 1)) // max_block_size
    width = float(real.shape.as_list()[1])

    def kernel(one: Any, other: Any) -> Any:
        return raw.Pow(math_ops.matmul(one, other, transpose_b=True) / width + 1, 3)

    def inside(rows: Any) -> Any:
        """Return the mean kernel of pairs of different rows."""
        values = kernel(rows, rows)
        count = math_ops.cast(array_ops.shape(rows)[0], kind)
        total = reduce_ops.reduce_sum(values) - matrix_ops.trace(values)
        return total / (count * (count - 1))

    def distance(index: Any) -> Any:
        of_real, of_generated = (
            each[_start(count, blocks, index) : _start(count, blocks, index + 1)]
            for each, count in zip((real, generated), counts, strict=True)
        )
        between = reduce_ops.reduce_mean(kernel(of_real, of_generated))
        return inside(of_real) + inside(of_generated) - 2 * between

    distances = functional_ops.map_fn(distance, math_ops.range(blocks), dtype=kind, back_prop=False)
    mean = reduce_ops.reduce_mean(distances)
    number = math_ops.cast(blocks, kind)
    # One block gives 0 / 0.
    variance = reduce_ops.reduce_sum(raw.Square(distances - mean)) / (number - 1)
    return mean, raw.Sqrt(variance / number)


def _start(count: Any, blocks: Any, index: Any) -> Any:
    """Return the first row of a block. The last blocks have one row more, if some must."""
    longer = count % blocks
    return index * (count // blocks) + raw.Maximum(0, index - (blocks - longer))


_FINAL_POOL = functools.partial(
    classifier_graphs.run_inception, output_tensor=classifier_graphs.INCEPTION_FINAL_POOL
)
kernel_inception_distance = functools.partial(kernel_classifier_distance, classifier_fn=_FINAL_POOL)
kernel_inception_distance_and_std = functools.partial(
    kernel_classifier_distance_and_std, classifier_fn=_FINAL_POOL
)
