"""Images with zeros around them."""

from typing import Any

import numpy as np
import pytest
from exact import integers
from hypothesis import given
from hypothesis import strategies as st

from capstan.core import windows
from capstan.kernels import padding

AXES = st.builds(
    windows.Windows,
    size=st.integers(1, 6),
    width=st.integers(1, 3),
    stride=st.integers(1, 2),
    dilation=st.integers(1, 2),
    before=st.integers(0, 4),
    count=st.integers(1, 9),
)


@given(
    rows=AXES,
    columns=AXES,
    count=st.integers(0, 5),
    depth=st.integers(1, 3),
    piece=st.sampled_from([1, 50, 1 << 16]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_images_lie_in_zeros(
    rows: windows.Windows, columns: windows.Windows, count: int, depth: int, piece: int, dtype: Any
) -> None:
    images = integers(1, count, rows.size, columns.size, depth, dtype=dtype)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(padding, "_PIECE", piece)
        found = padding.padded(images, rows, columns)
    behind = [axis.padded - axis.before - axis.size for axis in (rows, columns)]
    expected = np.pad(
        images, [(0, 0), (rows.before, behind[0]), (columns.before, behind[1]), (0, 0)]
    )
    np.testing.assert_array_equal(found, expected)


def test_images_without_padding_are_not_copied() -> None:
    images = integers(1, 2, 8, 8, 3)
    axis = windows.over(8, 2, 2, 1, b"VALID")
    assert padding.padded(images, axis, axis) is images
