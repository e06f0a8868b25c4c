"""Images as batches: [batch, height, width, channels] for all that `tf.image` takes."""

from typing import Any

from capstan.api import array_ops, check_ops, control_flow_ops
from capstan.framework import convert
from capstan.framework import graph as graphs


def batched(image: Any) -> tuple[Any, bool]:
    """Return images as a batch, and whether there was one image.

    A tensor of unknown rank is one image. If it has another rank, the step fails.

    Raises:
        ValueError: there are neither 3 nor 4 axes, or the images have no pixels or no channels.
    """
    value = convert.convert_to_tensor(image, name="image")
    check_sizes(value)
    rank = value.shape.ndims
    if rank == 4:
        return value, False
    if rank is None:
        value = check_ops.ensure_shape(value, [None, None, None])
    return array_ops.expand_dims(value, 0), True


def check_sizes(images: Any) -> None:
    """Check the shape of an image or of a batch, as far as it is known.

    Raises:
        ValueError: as for `batched`.
    """
    rank = images.shape.ndims
    if rank not in (None, 3, 4):
        raise ValueError(f"'image' (shape {images.shape}) must have either 3 or 4 dimensions.")
    if rank is not None and 0 in images.shape.as_list()[-3:]:
        raise ValueError(f"inner 3 dims of 'image.shape' must be > 0: {images.shape}")


def unbatched(images: Any, is_single: bool) -> Any:
    """Return the image of a batch of one if `is_single`, or else the batch."""
    return array_ops.squeeze(images, [0]) if is_single else images


def checked(images: Any, *conditions: tuple[Any, str]) -> Any:
    """Return images that are available once all conditions hold.

    A condition that is a tensor is checked when the graph runs, and the others now.

    Raises:
        ValueError: a condition does not hold.
    """
    later = []
    for condition, message in conditions:
        if isinstance(condition, graphs.Tensor):
            later.append(control_flow_ops.Assert(condition, [message]))
        elif not condition:
            raise ValueError(message)
    return control_flow_ops.with_dependencies(later, images) if later else images
