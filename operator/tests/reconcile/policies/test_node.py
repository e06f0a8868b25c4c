"""Table of the conditions under which a node is lost."""

import pytest

from capstan_operator.reconcile.policies import node
from capstan_operator.reconcile.policies.node import LOST, READY_SECONDS, Sight


@pytest.mark.parametrize(
    "out_of_service, unready_seconds, expected",
    [
        (False, None, Sight(lost=False, again_seconds=READY_SECONDS)),
        (False, 0.0, Sight(lost=False, again_seconds=300)),
        (False, 299.0, Sight(lost=False, again_seconds=1)),
        (False, 300.0, LOST),
        (False, 1e9, LOST),
        (True, None, LOST),
        (True, 0.0, LOST),
    ],
)
def test_a_node_is_lost_if_it_is_out_of_service_or_not_ready_for_long(
    out_of_service: bool, unready_seconds: float | None, expected: Sight
) -> None:
    sight = node.judge(
        out_of_service=out_of_service, unready_seconds=unready_seconds, lost_after=300
    )
    assert sight == expected
