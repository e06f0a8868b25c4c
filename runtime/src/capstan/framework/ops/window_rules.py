"""Shape rules that convolutions, pools and patches share (core/framework/common_shape_fns.cc)."""

from capstan.core import windows
from capstan.framework.opdef import ShapeContext, ShapeRule
from capstan.framework.ops import rules


def count(
    size: int | None, width: int | None, stride: int, dilation: int, padding: windows.Padding
) -> int | None:
    """Return the number of windows over an axis, or None if it is unknown.

    Raises:
        ValueError: a window has no element or is wider than the axis, or the stride or the dilation
            is not positive.
    """
    if size is None or (width is None and padding != b"SAME"):
        return None
    return windows.count(size, width or 1, stride, dilation, padding)


def check_lists(ctx: ShapeContext, start: str, length: int, *names: str) -> None:
    """Require that the attributes `names` have one number for each of `length` axes.

    `start` begins the message. It is the name of the op and "requires", or only "Requires".

    Raises:
        ValueError: an attribute has another length.
    """
    for name in names:
        if len(ctx.attrs[name]) != length:
            raise ValueError(
                f"{start} the {name} attribute to contain {length} values, but got: "
                f"{len(ctx.attrs[name])}"
            )


def shape_in(index: int, rank: int) -> ShapeRule:
    """Return the rule that gives the output the shape of this rank that input `index` holds."""
    return lambda ctx: (rules.with_rank(rules.shape_in(ctx, index), rank),)
