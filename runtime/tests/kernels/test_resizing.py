"""Images that are resized in blocks are those that are resized one by one."""

import numpy as np
import pytest

import capstan as tf


@pytest.mark.parametrize("batch", [0, 1, 7])
@pytest.mark.parametrize(
    ("old", "new"),
    [((5, 7), (1, 1)), ((5, 7), (3, 11)), ((40, 30), (90, 64)), ((2, 2), (200, 300))],
)
def test_bilinear_images_are_the_interpolations_of_each(
    batch: int, old: tuple[int, int], new: tuple[int, int]
) -> None:
    images = np.random.default_rng(3).normal(size=(batch, *old, 5)).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        given = tf.placeholder(tf.float32, [None, *old, 5])
        resized = tf.image.resize_bilinear(given, new)
        found = session.run(resized, {given: images})
        alone = [session.run(resized, {given: image[np.newaxis]})[0] for image in images]
    np.testing.assert_array_equal(found, np.reshape(alone, found.shape))
    wanted = images
    for axis in (0, 1):
        at = np.arange(new[axis]) * (old[axis] / new[axis])
        before = np.floor(at).astype(int)
        after = np.minimum(before + 1, old[axis] - 1)
        part = (at - before).reshape(-1, *(1,) * (2 - axis))
        start, end = np.take(wanted, before, axis + 1), np.take(wanted, after, axis + 1)
        wanted = start + (end - start) * part
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-4)
