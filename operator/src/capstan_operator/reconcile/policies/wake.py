"""Which jobs a comparison of the cache with the cluster wakes although it found no news of them.

If a wake was lost, for any reason, the next comparison wakes the job again. A job that is over
and has only ended pods has nothing left to do.
"""

from capstan_operator.api.status import Phase


def by_comparison(phase: Phase | None, *, has_living_pods: bool) -> bool:
    """Say whether to wake a job; `phase` is None for one without a status that can be read."""
    return phase is None or not phase.is_final or has_living_pods
