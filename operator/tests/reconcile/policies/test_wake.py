"""Table of the jobs that a comparison of the cache with the cluster wakes."""

import pytest

from capstan_operator.api.status import Phase
from capstan_operator.reconcile.policies import wake

FINAL = [Phase.SUCCEEDED, Phase.FAILED]


@pytest.mark.parametrize("has_living_pods", [False, True])
@pytest.mark.parametrize("phase", [None, *Phase])
def test_only_a_finished_job_without_living_pods_is_not_woken(
    phase: Phase | None, has_living_pods: bool
) -> None:
    sleeps = phase in FINAL and not has_living_pods
    assert wake.by_comparison(phase, has_living_pods=has_living_pods) is not sleeps
