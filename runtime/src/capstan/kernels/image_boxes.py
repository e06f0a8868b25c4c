"""Kernels of boxes in images.

Sources: core/kernels/draw_bounding_box_op.cc, sample_distorted_bounding_box_op.cc. A box holds the
numbers y_min, x_min, y_max and x_max, from 0 to 1.
"""

import itertools
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels import sampling, stateless
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid

_COLOURS: Final = np.array(
    [
        [1, 1, 0, 1], [0, 0, 1, 1], [1, 0, 0, 1], [0, 1, 0, 1], [0.5, 0, 0.5, 1],
        [0.5, 0.5, 0, 1], [0.5, 0, 0, 1], [0, 0, 0.5, 1], [0, 1, 1, 1], [1, 0, 1, 1],
    ],
    np.float32,
)  # fmt: skip
"""The colours of the boxes of an image, in turn."""


def _draw(node: NodeContext) -> Function:
    def draw(images: Array, boxes: Array, colours: Array | None = None) -> Array:
        if images.ndim != 4 or images.shape[3] not in (1, 3, 4):
            raise invalid(
                "images must have the shape [batch, height, width, depth] with depth 1 (GRY), 3 "
                f"(RGB), or 4 (RGBA), got {show(images.shape)}"
            )
        if boxes.ndim != 3 or boxes.shape[2] != 4 or len(boxes) != len(images):
            raise invalid(
                f"boxes must have the shape [{len(images)}, boxes, 4], got {show(boxes.shape)}"
            )
        palette = _palette(images.shape[3], colours)
        result = images.copy()
        for image, boxes_of_image in zip(result, boxes, strict=True):
            for box, colour in zip(boxes_of_image, itertools.cycle(palette)):
                _draw_box(image, box, colour)
        return result

    return draw


def _palette(depth: int, colours: Array | None) -> Array:
    if colours is None or not colours.size:
        return np.ones((1, 1), np.float32) if depth == 1 else _COLOURS[:, :depth]
    if colours.ndim != 2 or colours.shape[1] < depth:
        raise invalid(
            f"colors must have the shape [colors, channels] with at least {depth} channels, got "
            f"{show(colours.shape)}"
        )
    return colours[:, :depth]


def _draw_box(image: Array, box: Array, colour: Array) -> None:
    """Draw the edges of a box that are inside the image."""
    height, width = image.shape[:2]
    scale = np.array([height - 1, width - 1] * 2, np.float32)
    top, left, bottom, right = (box * scale).astype(np.int64).tolist()
    is_outside = top >= height or bottom < 0 or left >= width or right < 0
    if top > bottom or left > right or is_outside:
        return
    rows = slice(max(top, 0), min(bottom, height - 1) + 1)
    columns = slice(max(left, 0), min(right, width - 1) + 1)
    if top >= 0:
        image[top, columns] = colour
    if bottom < height:
        image[bottom, columns] = colour
    if left >= 0:
        image[rows, left] = colour
    if right < width:
        image[rows, right] = colour


class _Box(NamedTuple):
    """A box in pixels."""

    top: int
    left: int
    bottom: int
    right: int

    @property
    def area(self) -> int:
        return max(0, self.bottom - self.top) * max(0, self.right - self.left)

    def common_area(self, other: "_Box") -> int:
        return _Box(
            max(self.top, other.top),
            max(self.left, other.left),
            min(self.bottom, other.bottom),
            min(self.right, other.right),
        ).area


class _Words:
    """Random numbers that TensorFlow makes of words (core/lib/random/simple_philox.cc).

    It has the methods of `np.random.Generator` that the kernels below call.
    """

    def __init__(self, words: stateless.Words) -> None:
        self._words: Iterator[int] = itertools.chain.from_iterable(
            words.at(np.arange(start, start + 64)).ravel().tolist()
            for start in itertools.count(0, 64)
        )

    def uniform(self, low: float, high: float) -> np.float32:
        """Return a number from `low` to `high`."""
        share = np.float32((next(self._words) & 0x7FFFFF) * 2.0**-23)
        first = np.float32(low)
        return np.float32(share * (np.float32(high) - first) + first)

    def integers(self, count: int) -> int:
        """Return an integer from 0 to `count` - 1."""
        if not count & (count - 1):
            return next(self._words) & (count - 1)
        # The numbers below would make the first integers more likely.
        least = 0xFFFFFFFF % count + 1
        return next(word for word in self._words if word >= least) % count


def _sample(node: NodeContext) -> Function:
    stream, sample = sampling.generator(node), _sampler(node)
    return lambda *inputs: sample(stream, *inputs)


def _sample_by_seed(node: NodeContext) -> Function:
    words, sample = stateless.of_seed(node), _sampler(node)
    return lambda *inputs: sample(_Words(words(inputs[-1])), *inputs[:-1])


def _sampler(node: NodeContext) -> Callable[..., tuple[Array, Array, Array]]:
    ratios, areas = _ranges(node)
    attempts = int(node.attrs["max_attempts"])
    if attempts <= 0:
        raise invalid(f"Max attempts must be non-negative: {attempts}")

    def sample(
        stream: _Words | np.random.Generator, size: Array, boxes: Array, least_covered: Array
    ) -> tuple[Array, Array, Array]:
        if size.shape != (3,) or boxes.ndim != 3 or boxes.shape[2] != 4:
            raise invalid(
                "image_size must have 3 elements and bounding_boxes the shape [batch, boxes, 4], "
                f"got {show(size.shape)} and {show(boxes.shape)}"
            )
        covered = np.float32(least_covered)
        if not 0 <= covered <= 1:
            raise invalid(f"Min object covered must be in [0, 1]: {covered}")
        height, width = int(size[0]), int(size[1])
        if not (height > 0 and width > 0):
            raise invalid(f"Image height and width must be positive, got {height} and {width}")
        objects = _objects(boxes, height, width)
        if not objects and not node.attrs["use_image_if_no_bounding_boxes"]:
            raise invalid(
                "No bounding boxes provided as input. One must enable "
                "use_image_if_no_bounding_boxes if you wish to not provide any bounding boxes."
            )
        full = _Box(0, 0, height, width)
        chosen = full
        for _ in range(attempts):
            window = _random_window(stream, height, width, ratios, areas)
            if window is not None and _covers(window, objects or [full], covered):
                chosen = window
                break
        begin = np.array([chosen.top, chosen.left, 0], size.dtype)
        extent = (chosen.bottom - chosen.top, chosen.right - chosen.left, -1)
        corners = np.array(chosen, np.float32) / np.array([height, width] * 2, np.float32)
        return begin, np.array(extent).astype(size.dtype), corners.reshape(1, 1, 4)

    return sample


def _ranges(node: NodeContext) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the lowest and highest ratio of width to height, and share of the image."""
    ratios, areas = tuple(node.attrs["aspect_ratio_range"]), tuple(node.attrs["area_range"])
    if len(ratios) != 2 or not 0 < ratios[0] <= ratios[1]:
        raise invalid(f"Aspect ratio range must be two positive numbers in order: {ratios}")
    if len(areas) != 2 or not 0 < areas[0] <= areas[1] <= 1:
        raise invalid(f"Area range must be two numbers in (0, 1] in order: {areas}")
    return (ratios[0], ratios[1]), (areas[0], areas[1])


def _objects(boxes: Array, height: int, width: int) -> list[_Box]:
    flat = boxes.reshape(-1, 4)
    if not ((flat >= 0) & (flat <= 1)).all() or not (flat[:, :2] < flat[:, 2:]).all():
        raise invalid(
            "All bounding box coordinates must be in [0.0, 1.0], and each minimum below its "
            f"maximum: {flat.tolist()}"
        )
    pixels = (flat * np.array([height, width] * 2, np.float32)).astype(np.int64)
    return [_Box(*row) for row in pixels.tolist()]


def _random_window(
    stream: _Words | np.random.Generator,
    height: int,
    width: int,
    ratios: tuple[float, float],
    areas: tuple[float, float],
) -> _Box | None:
    """Return a random window with a random ratio, or None if it is too large or too small."""
    ratio = np.float32(stream.uniform(*ratios))
    least, most = (np.float32(area) * width * height for area in areas)
    low, high = (round(np.sqrt(area / ratio)) for area in (least, most))
    if round(high * ratio) > width:
        high = int((width + 0.5 - 1e-7) / float(ratio))
        high -= round(high * ratio) > width
    high = min(high, height)
    rows = min(low, high)
    if rows < high:
        rows += int(stream.integers(high - rows + 1))
    if rows * round(rows * ratio) < least:
        rows += 1
    elif rows * round(rows * ratio) > most:
        rows -= 1
    columns = round(rows * ratio)
    if not least <= rows * columns <= most or not 0 < rows <= height or not 0 < columns <= width:
        return None
    top = int(stream.integers(height - rows)) if rows < height else 0
    left = int(stream.integers(width - columns)) if columns < width else 0
    return _Box(top, left, top + rows, left + columns)


def _covers(window: _Box, objects: list[_Box], least: np.float32) -> bool:
    """Return whether a window has at least the part `least` of an object."""
    return any(
        each.area and np.float32(window.common_area(each)) / np.float32(each.area) >= least
        for each in objects
    )


def _sample_by_attribute(node: NodeContext) -> Function:
    sample, least = _sample(node), np.float32(node.attrs["min_object_covered"])
    return lambda size, boxes: sample(size, boxes, least)


register(Kernel("DrawBoundingBoxes", _draw))
register(Kernel("DrawBoundingBoxesV2", _draw))
register(Kernel("SampleDistortedBoundingBoxV2", _sample))
register(Kernel("StatelessSampleDistortedBoundingBox", _sample_by_seed))
register(Kernel("SampleDistortedBoundingBox", _sample_by_attribute))
