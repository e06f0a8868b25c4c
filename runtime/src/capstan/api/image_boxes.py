"""Functions of boxes in images (python/ops/image_ops_impl.py).

A box holds the numbers y_min, x_min, y_max and x_max, as parts of the height and width from 0 to 1.
"""

from typing import Any

from capstan.api import deprecation, random_ops
from capstan.api.scoped import scoped
from capstan.framework.raw import raw


def draw_bounding_boxes(
    images: Any, boxes: Any, name: str | None = None, colors: Any = None
) -> Any:
    """Return a batch of float images with the edges of boxes drawn on them.

    `boxes` has the shape [batch, boxes, 4]. The boxes of an image get the rows of `colors` in turn,
    by default ten colours, or 1 if the images have one channel.
    """
    with scoped(name, "draw_bounding_boxes", (images, boxes)):
        if colors is None:
            return raw.DrawBoundingBoxes(images, boxes)
        return raw.DrawBoundingBoxesV2(images, boxes, colors)


def sample_distorted_bounding_box(
    image_size: Any,
    bounding_boxes: Any,
    seed: int | None = None,
    seed2: int | None = None,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = None,
    area_range: Any = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> Any:
    """Draw a random window of an image that has a part of one of the boxes.

    `image_size` holds the height, width and channels, and `bounding_boxes` has the shape
    [batch, boxes, 4]. The window has at least the part `min_object_covered` of a box, a ratio of
    width to height in `aspect_ratio_range` (by default 0.75 to 1.33), and a part of the image in
    `area_range` (by default 0.05 to 1). If `max_attempts` draws (by default 100) find no such
    window, the window is the image. Without boxes, the step raises InvalidArgumentError unless
    `use_image_if_no_bounding_boxes`.

    Returns `begin` and `size` for `tf.slice`, and the window as a box of shape [1, 1, 4].
    """
    attrs = {"seed": seed or 0, "seed2": seed2 or 0} if seed2 else random_ops.seeds(seed)
    given = {
        "aspect_ratio_range": aspect_ratio_range,
        "area_range": area_range,
        "max_attempts": max_attempts,
        "use_image_if_no_bounding_boxes": use_image_if_no_bounding_boxes,
    }
    with scoped(name, "sample_distorted_bounding_box", (image_size, bounding_boxes)):
        return raw.SampleDistortedBoundingBoxV2(
            image_size,
            bounding_boxes,
            min_object_covered,
            **attrs,
            **{key: value for key, value in given.items() if value is not None},
        )


def crop_and_resize(
    image: Any,
    boxes: Any,
    box_ind: Any = None,
    crop_size: Any = None,
    method: str = "bilinear",
    extrapolation_value: float = 0,
    name: str | None = None,
    box_indices: Any = None,
) -> Any:
    """Cut boxes out of a batch of images, and give each the height and width `crop_size`.

    `boxes` has the shape [boxes, 4]. A box may reach over the edge of its image, where
    `extrapolation_value` stands, and a box whose minimum is above its maximum turns its crop
    around. `box_ind` is an int32 vector with the number of the image of each box; `box_indices` is
    its other name. `method` is `bilinear` or `nearest`.

    Returns float32 crops of shape [boxes, height, width, channels]. Images of floats and boxes have
    gradients. The step raises OutOfRangeError if `box_ind` names no image.

    Raises:
        ValueError: `box_ind` or `crop_size` is missing, or `box_ind` has both names.
    """
    chosen = deprecation.deprecated_argument_lookup("box_indices", box_indices, "box_ind", box_ind)
    for argument, value in (("box_ind", chosen), ("crop_size", crop_size)):
        if value is None:
            raise ValueError(f"crop_and_resize needs the argument {argument}.")
    return raw.CropAndResize(
        image,
        boxes,
        chosen,
        crop_size,
        method=method,
        extrapolation_value=extrapolation_value,
        name=name,
    )


def extract_glimpse(
    input: Any, size: Any, offsets: Any, centered: bool = True, normalized: bool = True,
    uniform_noise: bool = True, name: str | None = None,
) -> Any:  # fmt: skip
    """Return a window of each float32 image, of the height and width `size`.

    `offsets` [batch, 2] has the place of the middle of each window: y and x. With `centered`, (0,
    0) is the middle of the image, and otherwise its upper left corner. With `normalized`, the
    lower right corner is (1, 1), and otherwise places count pixels, or halves of pixels with
    `centered`. The part of a window outside of its image is uniform noise, as in TensorFlow 1.15
    also without `uniform_noise`.
    """
    return raw.ExtractGlimpse(
        input, size, offsets, centered=centered, normalized=normalized,
        uniform_noise=uniform_noise, name=name,
    )  # fmt: skip
