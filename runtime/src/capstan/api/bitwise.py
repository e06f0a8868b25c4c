"""`tf.bitwise`: functions of the bits of integers, which may be in ragged tensors."""

from capstan.api import bitwise_ops
from capstan.api.ragged_dispatch import of

__all__ = ["bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift"]

bitwise_and = of(bitwise_ops.bitwise_and)
bitwise_or = of(bitwise_ops.bitwise_or)
bitwise_xor = of(bitwise_ops.bitwise_xor)
invert = of(bitwise_ops.invert)
left_shift = of(bitwise_ops.left_shift)
right_shift = of(bitwise_ops.right_shift)
