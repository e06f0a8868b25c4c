"""How the pauses between two looks at an obstacle grow."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capstan_operator.reconcile.policies import recheck
from capstan_operator.reconcile.policies.recheck import FIRST_SECONDS, LONGEST_SECONDS


@pytest.mark.parametrize(
    "reason, pauses",
    [
        ("WaitingForOldPods", [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]),
        ("NameConflict", [5, 10, 20, 40, 80, 160, 300, 300]),
        ("ServiceMissing", [5, 10, 20, 40, 80, 160, 300, 300]),
        ("TemplateInvalid", [30, 60, 120, 240, 300, 300]),
    ],
)
def test_pauses_double_up_to_five_minutes(reason: str, pauses: list[float]) -> None:
    tries = range(1, len(pauses) + 1)
    assert [recheck.pause(reason, number) for number in tries] == pauses


@given(reason=st.sampled_from(sorted(FIRST_SECONDS)), tries=st.integers(1, 10**6))
def test_every_pause_is_within_its_bounds(reason: str, tries: int) -> None:
    assert FIRST_SECONDS[reason] <= recheck.pause(reason, tries) <= LONGEST_SECONDS
