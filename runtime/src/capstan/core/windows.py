"""The windows of convolutions and pools over an axis (core/framework/common_shape_fns.cc)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

Padding = bytes | tuple[int, int]
"""b"SAME", b"VALID", or the numbers of zeros before and behind an axis."""


@dataclass(frozen=True, slots=True)
class Windows:
    """The windows over an axis of `size` elements.

    Window `i` has `width` elements, `dilation` apart. The first one is element
    `i * stride - before` of the axis. There are `count` windows.
    """

    size: int
    width: int
    stride: int
    dilation: int
    before: int
    count: int

    @property
    def padded(self) -> int:
        """The size of the axis with padding, as far as windows reach."""
        reach = (self.count - 1) * self.stride + (self.width - 1) * self.dilation + 1
        return max(reach, self.before + self.size)

    def elements(self, offset: int) -> slice:
        """Return where element `offset` of all windows is in the padded axis."""
        start = offset * self.dilation
        return slice(start, start + (self.count - 1) * self.stride + 1, self.stride)

    def turned(self) -> "Windows | None":
        """Return the windows over the windows, one for each element of this axis.

        They have the same width. Their elements are the windows that have the element, in reverse
        order of its offset in them. There are no such windows if these are further apart than one
        element, or have a whole window of padding before the axis.
        """
        reach = (self.width - 1) * self.dilation
        if self.stride != 1 or self.before > reach:
            return None
        before = reach - self.before
        return Windows(self.count, self.width, 1, self.dilation, before, self.size)

    def inside(self) -> Iterator[tuple[int, slice, slice]]:
        """For each offset, yield the windows whose element is not padding, and these elements.

        An item is the offset, the slice of windows, and the slice of the axis without padding.
        """
        for offset in range(self.width):
            shift = offset * self.dilation - self.before
            first = max(0, -(shift // self.stride))
            last = min(self.count - 1, (self.size - 1 - shift) // self.stride)
            if first <= last:
                start = first * self.stride + shift
                stop = last * self.stride + shift + 1
                yield offset, slice(first, last + 1), slice(start, stop, self.stride)

    def first_inside(self) -> Iterator[tuple[slice, slice]]:
        """Yield the windows and their first elements that are not padding.

        An item is a slice of windows and the slice of the axis without padding, as for `inside`.
        A window of padding alone is in no item, and any other window is in one.
        """
        for offset, outputs, elements in self.inside():
            total = outputs.stop - outputs.start
            # The elements of offset 0, and those before which there is only padding.
            number = -((elements.start - self.dilation) // self.stride) if offset else total
            number = min(number, total)
            if number > 0:
                stop = elements.start + (number - 1) * self.stride + 1
                yield (
                    slice(outputs.start, outputs.start + number),
                    slice(elements.start, stop, self.stride),
                )


def count(size: int, width: int, stride: int, dilation: int, padding: Padding) -> int:
    """Return the number of windows over an axis of known size.

    Raises:
        ValueError: a window has no element or is wider than the axis, or the stride or the dilation
            is not positive.
    """
    _check(width, stride, dilation)
    reach = (width - 1) * dilation + 1
    padded = size if isinstance(padding, bytes) else size + sum(padding)
    if padding != b"SAME" and padded < reach:
        raise ValueError(f"Negative dimension size caused by subtracting {reach} from {padded}")
    return over(size, width, stride, dilation, padding).count


def over(size: int, width: int, stride: int, dilation: int, padding: Padding) -> Windows:
    """Return the windows over an axis. An axis that is a bit too small has no windows.

    Raises:
        ValueError: the windows have no element or are too wide for the axis, or the stride or the
            dilation is not positive.
    """
    _check(width, stride, dilation)
    reach = (width - 1) * dilation + 1
    if padding == b"SAME":
        number = -(-size // stride)
        missing = (number - 1) * stride + reach - size
        return Windows(size, width, stride, dilation, max(missing, 0) // 2, number)
    before, behind = (0, 0) if isinstance(padding, bytes) else padding
    number = int((size + before + behind - reach + stride) / stride)
    if number < 0:
        raise ValueError(
            f"Computed output size would be negative: {number} [input_size: {size}, "
            f"effective_filter_size: {reach}, stride: {stride}]"
        )
    return Windows(size, width, stride, dilation, before, number)


def _check(width: int, stride: int, dilation: int) -> None:
    if width <= 0:
        raise ValueError(f"A window must have at least one element, but its size is {width}")
    if stride <= 0:
        raise ValueError(f"Stride must be > 0, but got {stride}")
    if dilation <= 0:
        raise ValueError(f"Dilation rate must be >= 1, but got {dilation}")


def axes_of(data_format: bytes | str) -> tuple[int, int, int]:
    """Return the axes of height, width and channels of the format "NHWC" or "NCHW"."""
    return (2, 3, 1) if data_format in (b"NCHW", "NCHW") else (1, 2, 3)


def padding_of(attrs: Any, axis: int) -> Padding:
    """Return the padding of an axis that the attributes of a convolution or pool ask for."""
    padding = attrs["padding"]
    padding = padding.encode() if isinstance(padding, str) else padding
    if padding != b"EXPLICIT":
        return bytes(padding)
    pairs: Sequence[int] = attrs["explicit_paddings"]
    return pairs[2 * axis], pairs[2 * axis + 1]
