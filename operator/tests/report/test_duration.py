"""Durations are read as users write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capstan_operator.report import duration


@pytest.mark.parametrize("text", ["", "s", "-1", "1x", "m5", "1h 5m", "5m1h", "400d", "inf", "٣s"])
def test_a_text_that_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        duration.parse(text)


@given(st.integers(0, 366 * 86400))
def test_a_shown_duration_can_be_read_and_is_at_most_one_unit_too_short(seconds: int) -> None:
    read = duration.parse(duration.show(seconds))
    assert read <= seconds < read + max(read / 24, 1) + 1
