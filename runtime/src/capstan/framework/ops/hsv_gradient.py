"""The gradient of the conversion of colours from RGB to HSV (python/ops/image_grad.py)."""

from typing import Any

from capstan.core import dtypes
from capstan.framework.opdef import Gradients, Op, Raw


def from_rgb(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    """Return the gradient for the colours [..., 3] in RGB.

    The hue is `(next - last) / (6 * (largest - smallest))` plus a constant, where `next` and `last`
    are the channels that follow the largest one in the circle of red, green and blue. The
    saturation is `1 - smallest / largest`, and the value is `largest`. As in TensorFlow, the first
    of equal channels is the largest one, the last is the smallest one, a quotient by 0 is 0, and
    the saturation does not depend on a smallest channel of 0.
    """
    (x,), (grad,) = op.inputs, grads
    largest_at = raw.ArgMax(x, -1, output_type=dtypes.int32)
    mirrored = raw.ArgMin(raw.ReverseV2(x, [-1]), -1, output_type=dtypes.int32)

    def mask(place: Any) -> Any:
        return raw.OneHot(place, 3, raw.Cast(1, DstT=x.dtype), raw.Cast(0, DstT=x.dtype))

    def channel(where: Any) -> Any:
        return raw.Sum(raw.Mul(x, where), -1, keep_dims=True)

    is_largest, is_smallest = mask(largest_at), mask(raw.Sub(2, mirrored))
    is_next, is_last = (mask(raw.FloorMod(raw.AddV2(largest_at, step), 3)) for step in (1, 2))
    largest, smallest = channel(is_largest), channel(is_smallest)
    hue, saturation, value = raw.Split(-1, grad, num_split=3)

    by_width = raw.DivNoNan(raw.Div(hue, 6), raw.Sub(largest, smallest))
    turn = raw.DivNoNan(raw.Sub(channel(is_next), channel(is_last)), raw.Sub(largest, smallest))
    by_hue = raw.Sub(raw.Sub(is_next, is_last), raw.Mul(turn, raw.Sub(is_largest, is_smallest)))
    by_largest = raw.DivNoNan(raw.DivNoNan(raw.Mul(saturation, smallest), largest), largest)
    by_smallest = raw.DivNoNan(raw.Mul(saturation, raw.Sign(smallest)), largest)
    return (
        raw.AddN(
            [
                raw.Mul(by_width, by_hue),
                raw.Mul(raw.AddV2(value, by_largest), is_largest),
                raw.Neg(raw.Mul(by_smallest, is_smallest)),
            ]
        ),
    )
