"""Decide whether a node is lost, with the pods on it.

the Node object                             the node
is deleted                                  is lost
has the taint `out-of-service`              is lost: an administrator says that nothing runs there
is not ready, for `lost_after` seconds      is lost
is not ready, for a shorter time            may be lost when the rest of that time is over
is ready                                    is not lost; it may stop being ready at any time
"""

from dataclasses import dataclass

READY_SECONDS = 30.0
"""Seconds until the next look at a node that is ready. The control plane takes 40 s and more to
notice that a node is silent."""


@dataclass(frozen=True, slots=True)
class Sight:
    """The result of a look at a node.

    The next look is due in `again_seconds`. If that is None, no further look is needed.
    """

    lost: bool
    again_seconds: float | None = None


LOST = Sight(lost=True)


def judge(*, out_of_service: bool, unready_seconds: float | None, lost_after: float) -> Sight:
    """Judge a node whose object exists.

    `unready_seconds` says for how long the node has not been ready; None if it is ready.
    """
    if out_of_service:
        return LOST
    if unready_seconds is None:
        return Sight(lost=False, again_seconds=READY_SECONDS)
    left = lost_after - unready_seconds
    return Sight(lost=False, again_seconds=left) if left > 0 else LOST
