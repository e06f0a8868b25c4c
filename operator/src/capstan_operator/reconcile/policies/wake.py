"""Decide which unchanged jobs a comparison of the cache with the cluster wakes.

If a wake was lost, the next comparison wakes the job again. A finished job whose pods have all
ended needs no further pass.
"""

from capstan_operator.api.status import Phase


def by_comparison(phase: Phase | None, *, has_living_pods: bool) -> bool:
    """Return True if a comparison wakes the job. `phase` is None if its status cannot be read."""
    return phase is None or not phase.is_final or has_living_pods
