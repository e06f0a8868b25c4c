"""Compares the values that two runs of a program return."""

from typing import Any

import numpy as np

from capstan.core import elementwise


def close(found: Any, expected: Any, tolerance: float, least: float = 0.0) -> None:
    """Check that two values have one type and one shape, and that their elements are close.

    The difference of two floating-point numbers may be `least` and `tolerance` times the expected
    number. All other elements must be equal.
    """
    found, expected = np.asarray(found), np.asarray(expected)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    if elementwise.is_number(expected.dtype):
        wide = elementwise.computed(expected.dtype)
        found, expected = found.astype(wide), expected.astype(wide)
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=least)
    else:
        np.testing.assert_array_equal(found, expected)
