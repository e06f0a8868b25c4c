"""`tf.bitwise`: functions on the bits of integers (python/ops/bitwise_ops.py).

The arguments are integers of one type. Two arguments broadcast by NumPy's rules. The functions
raise TypeError for another type, and ValueError for shapes that do not broadcast.
"""

from capstan.api import plain

__all__ = ["bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift"]

bitwise_and = plain.function("bitwise_and", "BitwiseAnd", "Return the bits that x and y both have.")
bitwise_or = plain.function("bitwise_or", "BitwiseOr", "Return the bits that x or y has.")
bitwise_xor = plain.function(
    "bitwise_xor", "BitwiseXor", "Return the bits that only one of x and y has."
)
invert = plain.function("invert", "Invert", "Return the bits that x does not have.")
left_shift = plain.function(
    "left_shift",
    "LeftShift",
    "Move the bits of x to the left by y places, and fill with zeros.\n\n"
    "`y` counts as 0 if it is negative. A shift by all bits of the type or more moves all bits but "
    "one.",
)
right_shift = plain.function(
    "right_shift",
    "RightShift",
    "Move the bits of x to the right by y places, and keep the sign of signed integers.\n\n"
    "`y` counts as 0 if it is negative. A shift by all bits of the type or more moves all bits but "
    "one.",
)
