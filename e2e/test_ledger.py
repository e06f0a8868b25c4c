"""The ledger finds each restart that a job lost, counted twice or charged to the wrong limit."""

from typing import Any

import pytest

from testbed.ledger import DELETED, KILLED, SETTLING_SECONDS, Ledger

Json = dict[str, Any]


def pod(attempt: int, phase: str = "Running", node: str = "node1") -> Json:
    names = {"job-name": "digits", "replica-type": "worker", "replica-index": "0"}
    labels = {f"capstan.dev/{name}": value for name, value in names.items()}
    return {
        "metadata": {
            "uid": f"uid-{attempt}",
            "namespace": "job",
            "name": "digits-worker-0",
            "labels": {**labels, "capstan.dev/attempt": str(attempt)},
        },
        "spec": {"nodeName": node},
        "status": {"phase": phase},
    }


def status(
    attempt: int, application: int = 0, infrastructure: int = 0, state: str = "Succeeded"
) -> Json:
    return {
        "tasks": [{"name": "worker-0", "attempt": attempt, "state": state}],
        "restarts": {"application": application, "infrastructure": infrastructure},
    }


@pytest.fixture
def ledger() -> Ledger:
    """A ledger with a pod whose process was killed, and the pod that replaced it."""
    ledger = Ledger()
    ledger.see("ADDED", pod(1))
    ledger.hit("uid-1", KILLED)
    ledger.see("DELETED", pod(1))
    ledger.see("ADDED", pod(2))
    return ledger


def found(ledger: Ledger, status: Json, seconds_later: float = 0) -> list[str]:
    last = max((at for pod in ledger.pods.values() for _, at in pod.faults), default=0)
    return list(ledger.faults_in("job", status, last + seconds_later))


def test_a_failure_that_was_counted_once_is_no_fault(ledger: Ledger) -> None:
    assert found(ledger, status(2, application=1)) == []


@pytest.mark.parametrize(
    ("counted", "cause"),
    [
        (status(2), "1 pods were replaced, and the job counted"),
        (status(2, application=2), "1 pods were replaced, and the job counted"),
        (status(2, infrastructure=1), "1 to 1 failures of programs were restarted"),
        (status(1, application=1), "worker-0 had pods of the attempts [1, 2]"),
        (status(3, application=1), "worker-0 had pods of the attempts [1, 2]"),
    ],
    ids=["lost", "twice", "wrong limit", "a pod too many", "a pod too few"],
)
def test_a_wrong_count_is_found(ledger: Ledger, counted: Json, cause: str) -> None:
    assert any(line.startswith(cause) for line in found(ledger, counted))


def test_a_pod_that_was_replaced_without_a_fault_is_found(ledger: Ledger) -> None:
    ledger.see("DELETED", pod(2))
    ledger.see("ADDED", pod(3))
    [line, _] = found(ledger, status(3, application=2))
    assert line == "worker-0: attempt 2 was replaced, and no fault had hit it"


def test_a_failure_without_a_restart_is_found_unless_the_job_ended_soon(ledger: Ledger) -> None:
    ledger.hit("uid-2", DELETED)
    assert found(ledger, status(2, application=1), SETTLING_SECONDS) == []
    [line] = found(ledger, status(2, application=1), SETTLING_SECONDS + 1)
    assert line == "worker-0: attempt 2 was deleted, and no restart followed"


def test_a_job_may_end_before_the_pod_of_a_counted_restart_is_created(ledger: Ledger) -> None:
    ledger.hit("uid-2", KILLED)
    assert found(ledger, status(3, application=2, state="Stopped"), SETTLING_SECONDS) == []
    assert found(ledger, status(3, application=1, state="Stopped"), SETTLING_SECONDS)
    assert found(ledger, status(4, application=3, state="Stopped"), SETTLING_SECONDS)
    [line] = found(ledger, status(3, application=2, state="Stopped"), SETTLING_SECONDS + 1)
    assert line == "worker-0: attempt 2 was killed, and no restart followed"


def test_an_attempt_that_was_refused_has_no_pod_and_costs_nothing() -> None:
    ledger = Ledger()
    for attempt in (2, 3):
        ledger.see("ADDED", pod(attempt))
    ledger.hit("uid-2", KILLED)
    right = status(3, application=1)
    right["tasks"][0]["refused"] = 1
    assert found(ledger, right) == []
    assert found(ledger, status(3, application=1))
    right["tasks"][0]["refused"] = 2
    assert found(ledger, right)


def test_a_pod_that_two_faults_hit_may_be_charged_to_either_limit(ledger: Ledger) -> None:
    ledger.hit("uid-1", DELETED)
    assert found(ledger, status(2, application=1)) == []
    assert found(ledger, status(2, infrastructure=1)) == []


def test_pods_on_a_lost_node_are_hit_also_those_that_come_later(ledger: Ledger) -> None:
    ledger.lose("node1")
    assert ledger.pods["uid-2"].is_lost()
    assert not ledger.pods["uid-1"].is_lost()
    ledger.see("DELETED", pod(2))
    ledger.see("ADDED", pod(3, "Pending"))
    assert ledger.pods["uid-3"].is_lost()
    ledger.see("ADDED", pod(4, node="node2"))
    assert list(ledger.unhurt()) == ["uid-4"]


def test_a_list_replaces_the_events_that_a_new_api_server_does_not_have(ledger: Ledger) -> None:
    ledger.see_all([pod(3)])
    assert list(ledger.alive()) == ["uid-3"]
