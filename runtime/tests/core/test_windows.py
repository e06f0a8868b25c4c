"""The windows over windows lead from gradients back to the elements."""

import numpy as np
import pytest

from capstan.core import windows

AXES = [
    windows.over(size, width, 1, dilation, padding)
    for size, width, dilation, padding in (
        (6, 3, 1, b"SAME"),
        (6, 3, 1, b"VALID"),
        (5, 2, 1, b"SAME"),
        (7, 2, 3, b"SAME"),
        (4, 3, 2, (1, 2)),
        (4, 3, 1, (2, 5)),
        (2, 5, 1, b"SAME"),
    )
]


def sums(axis: windows.Windows, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the weighted sum over each window."""
    padded = np.zeros(axis.padded)
    padded[axis.before : axis.before + axis.size] = values
    return np.sum([w * padded[axis.elements(i)] for i, w in enumerate(weights)], 0)


@pytest.mark.parametrize("axis", AXES, ids=str)
def test_windows_over_windows_are_the_transposed_sum(axis: windows.Windows) -> None:
    turned = axis.turned()
    assert turned is not None
    weights = np.arange(1.0, axis.width + 1)
    forward = np.stack([sums(axis, row, weights) for row in np.eye(axis.size)])
    backward = np.stack([sums(turned, row, weights[::-1]) for row in np.eye(axis.count)])
    np.testing.assert_array_equal(backward, forward.T)


@pytest.mark.parametrize(
    "axis",
    [windows.over(6, 3, 2, 1, b"SAME"), windows.over(4, 3, 1, 1, (3, 0))],
    ids=["windows two elements apart", "a window of padding"],
)
def test_some_windows_have_no_windows_that_lead_back(axis: windows.Windows) -> None:
    assert axis.turned() is None
