"""Table of the finished jobs that need no pass."""

from typing import Any

import pytest

from capstan_operator.reconcile.policies import settled

Json = dict[str, Any]


def finished(**changes: Any) -> Json:
    """Return a finished job, with changes to its generation, run policy and status."""
    status = {
        "phase": "Succeeded",
        "observedGeneration": 3,
        "tasks": [
            {"name": "ps-0", "state": "Stopped"},
            {"name": "worker-0", "state": "Succeeded"},
            {"name": "worker-1", "state": "Failed"},
        ],
    }
    return {
        "metadata": {"generation": changes.pop("generation", 3)},
        "spec": {"runPolicy": changes.pop("policy", {})},
        "status": {**status, **changes},
    }


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_finished_job_without_pods_needs_no_pass(phase: str) -> None:
    assert settled.needs_no_pass(finished(phase=phase), has_pods=False)
    assert settled.needs_no_pass(finished(phase=phase, policy=None), has_pods=False)


@pytest.mark.parametrize(
    "changes",
    [
        *({"phase": phase} for phase in (None, "Running", "Suspended", "Invalid", "Unheard")),
        {"generation": 4},
        {"observedGeneration": None},
        {"policy": {"ttlSecondsAfterFinished": 0}},
        {"policy": {"ttlSecondsAfterFinished": 60}},
        *(
            {"tasks": [{"name": "ps-0", "state": state}]}
            for state in ("Running", "Stopping", "Pending", "BackOff", "Unheard", None)
        ),
        {"tasks": None},
    ],
)
def test_a_job_with_work_left_needs_a_pass(changes: Json) -> None:
    assert not settled.needs_no_pass(finished(**changes), has_pods=False)


def test_a_finished_job_with_pods_and_a_new_job_need_a_pass() -> None:
    assert not settled.needs_no_pass(finished(), has_pods=True)
    new = {name: value for name, value in finished().items() if name != "status"}
    assert not settled.needs_no_pass(new, has_pods=False)
