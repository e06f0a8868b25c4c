"""The ops that TensorFlow's client adds to graphs run on Capstan's servers, also in gradients."""

from collections.abc import Callable, Sequence
from typing import Any

import genuine
import numpy as np
import pytest

pytestmark = genuine.MARKS

Program = Callable[[Any], Sequence[Any]]
"""Builds a graph with `v1`, and returns the tensors to fetch."""

RANDOM = np.random.default_rng(5)
IMAGES = RANDOM.random((2, 6, 4, 3))


def slopes(v1: Any, y: Any, x: Any) -> Any:
    """Return the gradient of the sum of the elements of `y`, each with a weight of its own."""
    return v1.gradients(v1.reduce_sum(v1.sin(v1.cast(y, v1.float64))), x)[0]


def resized_images(v1: Any) -> list[Any]:
    fetches = []
    for images in (v1.constant(IMAGES), v1.placeholder_with_default(IMAGES, [None] * 4)):
        for name in ("resize_bilinear", "resize_nearest_neighbor", "resize_bicubic"):
            for options in ({}, {"align_corners": True}, {"half_pixel_centers": True}):
                y = getattr(v1.image, name)(images, [5, 9], **options)
                fetches += [y, slopes(v1, y, images)]
    return fetches


def pools(v1: Any) -> list[Any]:
    raw, fetches = genuine.tensorflow().raw_ops, []
    for images in (v1.constant(IMAGES), v1.placeholder_with_default(IMAGES, [None] * 4)):
        for padding in ("SAME", "VALID"):
            sizes = [
                v1.placeholder_with_default(size, [4]) for size in ([1, 3, 2, 1], [1, 2, 1, 1])
            ]
            y = raw.MaxPoolV2(input=images, ksize=sizes[0], strides=sizes[1], padding=padding)
            slope = slopes(v1, y, images)
            fetches += [y, slope, slopes(v1, slope, slope)]
            for kind, in_batch in ((v1.int32, False), (v1.int64, True)):
                y, places = v1.nn.max_pool_with_argmax(
                    images, [1, 3, 2, 1], [1, 2, 1, 1], padding,
                    output_dtype=kind, include_batch_in_index=in_batch,
                )  # fmt: skip
                fetches += [y, places, *([slopes(v1, y, images)] if in_batch else [])]
    return fetches


def small_ops(v1: Any) -> list[Any]:
    raw, x, y = genuine.tensorflow().raw_ops, v1.constant(IMAGES[0]), v1.constant(IMAGES[1])
    bounds = [(0.3, 0.6), (IMAGES[1] / 2, 0.5), (0.4, IMAGES[1]), (np.nan, 0.5), (0.2, np.nan)]
    clipped = [raw.ClipByValue(t=x, clip_value_min=a, clip_value_max=b) for a, b in bounds]
    turned = raw.ConjugateTranspose(x=x, perm=[2, 0, 1])
    rows = [v1.constant([4, 1, 0]), v1.constant([[2, 5], [3, 6]])]
    stitched = raw.ParallelDynamicStitch(indices=rows, data=[x[:3, 0], v1.stack([x[0, :2]] * 2)])
    total = v1.accumulate_n([x, y, x * y])
    size = v1.broadcast_dynamic_shape(v1.shape(x), v1.placeholder_with_default([7, 1, 1, 1], None))
    results = [*clipped, turned, stitched, total]
    return [*results, size, *(slopes(v1, result, x) for result in results)]


def bands_of_matrices(v1: Any) -> list[Any]:
    linalg, fetches = v1.linalg, []
    for x in (v1.constant(IMAGES), v1.placeholder_with_default(IMAGES, None)):
        for k, align in (([-1, 1], "RIGHT_LEFT"), ([-2, 0], "LEFT_RIGHT"), (1, "LEFT_LEFT")):
            part = linalg.diag_part(x, k=k, padding_value=0.5, align=align)
            results = [
                part,
                linalg.diag(part, k=k, padding_value=2, align=align),
                linalg.set_diag(x, part * part, k=k, align=align),
            ]
            fetches += [*results, *(slopes(v1, result, x) for result in results)]
    return fetches


PROGRAMS: list[Program] = [resized_images, pools, small_ops, bands_of_matrices]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_program_of_tensorflow_gives_the_same_values_on_our_servers(
    v1: Any, tasks: genuine.Tasks, program: Program
) -> None:
    fetches = program(v1)
    with v1.Session() as local, v1.Session(tasks.target()) as session:
        expected, found = local.run(fetches), session.run(fetches)
    for value, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(value, wanted, rtol=2e-5, atol=2e-5, strict=True)
