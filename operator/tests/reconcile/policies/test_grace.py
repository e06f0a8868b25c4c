"""Table of the grace periods that instances get when the operator stops them."""

import pytest
from reconcile.world import make_job, task

from capstan_operator.reconcile.actions import StopReason
from capstan_operator.reconcile.policies import grace

REPLACED, UNKNOWN_TASK = StopReason.REPLACED, StopReason.UNKNOWN_TASK
NODE_LOST, JOB_OVER = StopReason.NODE_LOST, StopReason.JOB_OVER


def template(seconds: int) -> dict[str, object]:
    spec = {"containers": [{"name": "t"}], "terminationGracePeriodSeconds": seconds}
    return {"template": {"spec": spec}}


@pytest.mark.parametrize(
    "name, why, seconds",
    [
        *((name, NODE_LOST, 0) for name in ("ps-0", "worker-1", "evaluator-0")),
        ("ps-0", REPLACED, 7),
        ("ps-0", UNKNOWN_TASK, 7),
        ("ps-0", JOB_OVER, 99),
        ("worker-1", REPLACED, 1),
        ("worker-1", UNKNOWN_TASK, 1),
        ("worker-1", JOB_OVER, 1),
        ("chief-0", JOB_OVER, 30),
        ("chief-0", REPLACED, 30),
        ("evaluator-0", UNKNOWN_TASK, 30),
        ("evaluator-0", JOB_OVER, 30),
    ],
)
def test_the_grace_period_depends_on_the_task_and_the_reason(
    name: str, why: StopReason, seconds: int
) -> None:
    each = {"ps": template(7), "worker": template(0)}
    job = make_job(chief=1, each=each, run={"psGracePeriodSeconds": 99})
    assert grace.seconds(job, task(name), why) == seconds


def test_only_a_lost_node_forces_a_deletion() -> None:
    job = make_job(each={"ps": template(0)}, run={"psGracePeriodSeconds": 0})
    forced = {why for why in StopReason if grace.seconds(job, task("ps-0"), why) == grace.FORCED}
    assert forced == {NODE_LOST}
