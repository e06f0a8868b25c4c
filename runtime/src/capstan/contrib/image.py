"""`tf.contrib.image`: transforms, warps and segments of images (contrib/image/python/ops).

A transform is a row of 8 numbers `[a0, a1, a2, b0, b1, b2, c0, c1]`. It maps the place (x, y) of
the new image to the place `((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k)` of the old image, with
`k = c0 x + c1 y + 1`. Images have the shape [batch, height, width, channels], or leave out the
batch, or the batch and the channels.
"""

from typing import Any

import numpy as np

from capstan.api import array_ops, creation_ops, math_ops
from capstan.api.absent import absent
from capstan.contrib.image_segments import bipartite_match, connected_components
from capstan.contrib.image_splines import interpolate_spline
from capstan.contrib.image_warps import dense_image_warp, sparse_image_warp
from capstan.contrib.image_yiq import adjust_hsv_in_yiq, random_hsv_in_yiq
from capstan.core import alias, dtypes
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

__all__ = [
    "adjust_hsv_in_yiq", "angles_to_projective_transforms", "bipartite_match",
    "compose_transforms", "connected_components", "dense_image_warp",
    "flat_transforms_to_matrices", "interpolate_spline", "matrices_to_flat_transforms",
    "random_hsv_in_yiq", "rotate", "sparse_image_warp", "transform", "translate",
    "translations_to_projective_transforms",
]  # fmt: skip

alias.grow(
    __name__,
    {
        "python.ops.dense_image_warp": ("capstan.contrib.image_warps",),
        "python.ops.distort_image_ops": ("capstan.contrib.image_yiq",),
        "python.ops.image_ops": (__name__,),
        "python.ops.interpolate_spline": ("capstan.contrib.image_splines",),
        "python.ops.sparse_image_warp": ("capstan.contrib.image_warps",),
    },
)

_IMAGE_DTYPES = frozenset(
    {
        *(dtypes.uint8, dtypes.int32, dtypes.int64),
        *(dtypes.float16, dtypes.float32, dtypes.float64),
    }
)


def transform(
    images: Any, transforms: Any, interpolation: str = "NEAREST", output_shape: Any = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Return the images with one transform, or one transform for each image.

    `interpolation` is NEAREST or BILINEAR. `output_shape` is the height and the width, by default
    those of the images. Places outside of the old image are 0.

    Raises:
        TypeError: the type or the rank of an argument does not fit, or a rank is unknown.
        ValueError: `output_shape` does not have two elements.
    """
    with graphs.get_default_graph().name_scope(name or "transform"):
        given = convert.convert_to_tensor(images)
        batch = _batch(given)
        rows = _rows(transforms, "Transforms")
        if output_shape is None:
            output_shape = _size(batch)
        size = convert.convert_to_tensor(output_shape, dtypes.int32)
        if not size.shape.is_compatible_with([2]):
            raise ValueError(
                "output_shape must be a 1-D Tensor of 2 elements: new_height, new_width"
            )
        made = raw.ImageProjectiveTransformV2(
            batch, rows, size, interpolation=interpolation.upper()
        )
        return _like(made, given)


def _batch(images: Any) -> Any:
    """Return images with a batch axis and a channel axis."""
    if images.dtype.base_dtype not in _IMAGE_DTYPES:
        raise TypeError(f"Invalid dtype {images.dtype}.")
    rank = images.shape.ndims
    if rank is None:
        raise TypeError("image_or_images rank must be statically known")
    if not 2 <= rank <= 4:
        raise TypeError("Images should have rank between 2 and 4.")
    if rank == 2:
        images = raw.ExpandDims(images, -1)
    return images if rank == 4 else raw.ExpandDims(images, 0)


def _like(batch: Any, images: Any) -> Any:
    """Return a batch without the axes that `images` do not have."""
    rank = images.shape.ndims
    if rank == 4:
        return batch
    return batch[0, :, :, 0] if rank == 2 else batch[0]


def _size(batch: Any) -> Any:
    known = batch.shape.as_list()[1:3]
    return array_ops.shape(batch)[1:3] if None in known else np.array(known, np.int32)


def _rows(values: Any, name: str) -> Any:
    """Return a matrix of float32: one row, if `values` is a vector."""
    tensor = convert.convert_to_tensor(values, dtypes.float32)
    rank = tensor.shape.ndims
    if rank is None:
        raise TypeError(f"The rank of {name} must be statically known")
    if rank not in (1, 2):
        raise TypeError(f"{name} should have rank 1 or 2.")
    return raw.ExpandDims(tensor, 0) if rank == 1 else tensor


def rotate(
    images: Any, angles: Any, interpolation: str = "NEAREST", name: str | None = None
) -> Any:
    """Return the images rotated around their centres, anticlockwise, by angles in radians."""
    with graphs.get_default_graph().name_scope(name or "rotate"):
        given = convert.convert_to_tensor(images)
        batch = _batch(given)
        height, width = (
            math_ops.cast(array_ops.shape(batch)[axis], dtypes.float32) for axis in (1, 2)
        )
        rows = angles_to_projective_transforms(angles, height, width)
        return _like(transform(batch, rows, interpolation), given)


def translate(
    images: Any, translations: Any, interpolation: str = "NEAREST", name: str | None = None
) -> Any:
    """Return the images moved by `[dx, dy]`, or by a row of a matrix for each image."""
    with graphs.get_default_graph().name_scope(name or "translate"):
        rows = translations_to_projective_transforms(translations)
        return transform(images, rows, interpolation)


def angles_to_projective_transforms(
    angles: Any, image_height: Any, image_width: Any, name: str | None = None
) -> Any:
    """Return the transforms that rotate images of this size, one for each angle.

    Raises:
        TypeError: the angles are neither a scalar nor a vector.
    """
    with graphs.get_default_graph().name_scope(name or "angles_to_projective_transforms"):
        given = convert.convert_to_tensor(angles, dtypes.float32)
        if given.shape.ndims not in (0, 1):
            raise TypeError("Angles should have rank 0 or 1.")
        each = raw.Reshape(given, [-1])
        cosine, sine = math_ops.cos(each), math_ops.sin(each)
        width, height = (
            math_ops.cast(size, dtypes.float32) - 1 for size in (image_width, image_height)
        )
        x = (width - (cosine * width - sine * height)) / 2.0
        y = (height - (sine * width + cosine * height)) / 2.0
        zeros = creation_ops.zeros_like(cosine)
        return raw.Pack([cosine, -sine, x, sine, cosine, y, zeros, zeros], axis=1)


def translations_to_projective_transforms(translations: Any, name: str | None = None) -> Any:
    """Return the transforms that move images by `[dx, dy]`, one for each row."""
    with graphs.get_default_graph().name_scope(name or "translations_to_projective_transforms"):
        rows = _rows(translations, "Translations")
        x, y = rows[:, 0], rows[:, 1]
        ones, zeros = creation_ops.ones_like(x), creation_ops.zeros_like(x)
        return raw.Pack([ones, zeros, -x, zeros, ones, -y, zeros, zeros], axis=1)


def compose_transforms(*transforms: Any) -> Any:
    """Return the transform that does the same as the given ones, one after another.

    Raises:
        AssertionError: no transform is given.
    """
    if not transforms:
        raise AssertionError("transforms cannot be empty")
    with graphs.get_default_graph().name_scope("compose_transforms"):
        first, *others = map(flat_transforms_to_matrices, transforms)
        for matrices in others:
            first = math_ops.matmul(first, matrices)
        return matrices_to_flat_transforms(first)


def flat_transforms_to_matrices(transforms: Any) -> Any:
    """Return the matrices [batch, 3, 3] of transforms.

    Raises:
        ValueError: the transforms are neither a vector nor a matrix.
    """
    with graphs.get_default_graph().name_scope("flat_transforms_to_matrices"):
        given = convert.convert_to_tensor(transforms)
        if given.shape.ndims not in (1, 2):
            raise ValueError(f"Transforms should be 1D or 2D, got: {given}")
        rows = raw.Reshape(given, [-1, 8])
        ones = creation_ops.ones_like(rows[:, :1])
        return raw.Reshape(raw.ConcatV2([rows, ones], 1), [-1, 3, 3])


def matrices_to_flat_transforms(transform_matrices: Any) -> Any:
    """Return the transforms [batch, 8] of matrices.

    Raises:
        ValueError: the matrices have neither 2 nor 3 axes.
    """
    with graphs.get_default_graph().name_scope("matrices_to_flat_transforms"):
        given = convert.convert_to_tensor(transform_matrices)
        if given.shape.ndims not in (2, 3):
            raise ValueError(f"Matrices should be 2D or 3D, got: {given}")
        rows = raw.Reshape(given, [-1, 9])
        return (rows / rows[:, 8:9])[:, :8]


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.image", name)


def __dir__() -> list[str]:
    return sorted(__all__)
