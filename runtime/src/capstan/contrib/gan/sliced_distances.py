"""The sliced Wasserstein distance (contrib/gan/python/eval/python/sliced_wasserstein_impl.py)."""

from typing import Any

import numpy as np

from capstan.api import (
    array_ops,
    block_ops,
    creation_ops,
    linear_algebra_ops,
    math_ops,
    nn,
    random_ops,
    reduce_ops,
    script_ops,
)
from capstan.core import dtypes
from capstan.framework.raw import raw

_BINOMIAL = np.array([1, 4, 6, 4, 1], np.float32)
_FILTER = (np.outer(_BINOMIAL, _BINOMIAL) / 256)[:, :, None, None]


def sliced_wasserstein_distance(
    real_images: Any,
    fake_images: Any,
    resolution_min: int = 16,
    patches_per_image: int = 64,
    patch_size: int = 7,
    random_sampling_count: int = 1,
    random_projection_dim: int = 7 * 7 * 3,
    use_svd: bool = False,
) -> list[tuple[Any, Any]]:
    """Return a pair of distances for each resolution, from the full one to `resolution_min`.

    The first distance is that of two samples of patches of real images, the second that of real
    and fake patches. The patches, of an odd size, are of the levels of a Laplacian pyramid. The
    distance is that of their projections on random vectors, or with `use_svd` on their singular
    vectors (Karras and others, 2017).

    Raises:
        ValueError: the images are not square with 3 channels, or their shapes differ.
    """
    height = real_images.shape.as_list()[1]
    real_images.shape.assert_is_compatible_with([None, None, height, 3])
    fake_images.shape.assert_is_compatible_with(real_images.shape)
    smallest = min(resolution_min, height)
    levels = int(np.log2(height)) - int(np.log2(smallest)) + 1

    def patches(level: Any) -> Any:
        return _normalized(_random_patches(level, patches_per_image, patch_size))

    def distance(one: Any, other: Any) -> Any:
        if use_svd:
            return _distance_by_svd(one, other)
        return _distance(one, other, random_sampling_count, random_projection_dim)

    scores = []
    real, fake = _pyramid(real_images, levels), _pyramid(fake_images, levels)
    for of_real, of_fake in zip(real, fake, strict=True):
        sample, again, other = patches(of_real), patches(of_real), patches(of_fake)
        scores.append((distance(sample, again), distance(sample, other)))
    return scores


def _pyramid(batch: Any, levels: int) -> list[Any]:
    """Return what each resolution adds to the next coarser one, and last the coarsest images."""
    pyramid = [math_ops.cast(batch, dtypes.float32)]
    for _ in range(1, levels):
        pyramid.append(_blurred(pyramid[-1], 1)[:, ::2, ::2])
        pyramid[-2] -= _enlarged(pyramid[-1])
    return pyramid


def _enlarged(batch: Any) -> Any:
    count, height, width, channels = array_ops.unstack(array_ops.shape(batch), 4)
    zeros = creation_ops.zeros([3 * count, height, width, channels])
    spread = block_ops.batch_to_space(
        array_ops.concat([batch, zeros], 0), crops=[[0, 0], [0, 0]], block_size=2
    )
    return _blurred(spread, 4)


def _blurred(batch: Any, gain: int) -> Any:
    """Return images times a binomial filter, each channel for itself."""
    count, height, width, channels = array_ops.unstack(array_ops.shape(batch), 4)
    padded = array_ops.pad(batch, [[0, 0], [2, 2], [2, 2], [0, 0]], "REFLECT")
    planes = array_ops.reshape(
        array_ops.transpose(padded, [0, 3, 1, 2]), [count * channels, height + 4, width + 4, 1]
    )
    blurred = nn.conv2d(planes, _FILTER * gain, [1] * 4, "VALID")
    return array_ops.transpose(
        array_ops.reshape(blurred, [count, channels, height, width]), [0, 2, 3, 1]
    )


def _random_patches(batch: Any, per_image: int, size: int) -> Any:
    def patches(images: Any) -> Any:
        count, height, width, _ = images.shape
        half = size // 2
        shape = (count * per_image, 1, 1)
        image, y, x = np.ogrid[: count * per_image, -half : half + 1, -half : half + 1]
        y = y + np.random.randint(half, height - half, shape)
        x = x + np.random.randint(half, width - half, shape)
        return images[image // per_image, y, x]

    return script_ops.py_func(patches, [batch], batch.dtype, stateful=False)


def _normalized(patches: Any) -> Any:
    mean, variance = nn.moments(patches, [1, 2, 3], keep_dims=True)
    scaled = (patches - mean) / raw.Sqrt(variance)
    return array_ops.reshape(scaled, [array_ops.shape(scaled)[0], -1])


def _sorted_difference(one: Any, other: Any) -> Any:
    """Return the mean absolute difference of the sorted columns of two matrices."""
    rows = array_ops.shape(one)[0]
    ordered = [nn.top_k(array_ops.transpose(each), rows)[0] for each in (one, other)]
    return reduce_ops.reduce_mean(raw.Abs(ordered[0] - ordered[1]))


def _distance(one: Any, other: Any, samples: int, directions: int) -> Any:
    width = array_ops.shape(one)[1]
    distances = []
    for _ in range(samples):
        vectors = random_ops.random_normal([width, directions])
        vectors *= raw.Rsqrt(reduce_ops.reduce_sum(raw.Square(vectors), 0, keepdims=True))
        distances.append(
            _sorted_difference(math_ops.matmul(one, vectors), math_ops.matmul(other, vectors))
        )
    return reduce_ops.reduce_mean(distances)


def _distance_by_svd(one: Any, other: Any) -> Any:
    values, left, _ = linear_algebra_ops.svd(array_ops.concat([one, other], 0))
    projected = array_ops.split(left * values, 2, axis=0)
    return _sorted_difference(*(each[:, ::-1] for each in projected))
