"""The order in which the tasks of a suspended job are stopped."""

import pytest
from reconcile.world import make_job, task

from capstan_operator.reconcile.policies import stopping


@pytest.mark.parametrize(
    "chief, running, expected",
    [
        (1, "chief-0 ps-0 worker-0 worker-1 evaluator-0", "worker-0 worker-1 evaluator-0"),
        (1, "chief-0 ps-0 ps-1", "chief-0"),
        (1, "ps-0 ps-1", "ps-0 ps-1"),
        (0, "ps-0 worker-0 worker-1", "worker-1"),
        (0, "ps-0 worker-0 evaluator-0", "evaluator-0"),
        (0, "ps-0 worker-0", "worker-0"),
        (0, "", ""),
    ],
)
def test_the_task_that_saves_stops_after_the_workers_and_before_the_parameter_servers(
    chief: int, running: str, expected: str
) -> None:
    job = make_job(chief=chief, ps=2, workers=2, evaluator=1)
    found = stopping.next_group(job, [task(name) for name in running.split()])
    assert found == {task(name) for name in expected.split()}
