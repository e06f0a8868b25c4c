"""How long to wait before looking again whether an obstacle is still there.

Kubernetes does not say when a quota is lifted or a foreign Service is deleted, so the operator asks
again, with pauses that double. The first pause depends on the obstacle.
"""

from capstan_operator.reconcile.observe import (
    NAME_CONFLICT,
    SERVICE_MISSING,
    TEMPLATE_INVALID,
    WAITING_FOR_OLD_PODS,
)

FIRST_SECONDS = {
    WAITING_FOR_OLD_PODS: 1.0,
    NAME_CONFLICT: 5.0,
    SERVICE_MISSING: 5.0,
    TEMPLATE_INVALID: 30.0,
}
LONGEST_SECONDS = 300.0
"""These times are guesses. A thousand jobs with the longest pauses send some seven requests a
second.
"""


def pause(reason: str, tries: int) -> float:
    """Return the seconds to wait after the `tries`-th look (at least 1) found the same obstacle."""
    # The exponent is bounded: powers overflow after long trouble.
    return min(FIRST_SECONDS[reason] * 2.0 ** min(tries - 1, 16), LONGEST_SECONDS)
