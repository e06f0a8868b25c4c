"""The status is the only memory of the operator, so it must survive a round trip."""

import json
from datetime import UTC, datetime, timedelta

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capstan_operator.api import status_json
from capstan_operator.api.names import ReplicaType, TaskName, Uid
from capstan_operator.api.status import (
    Condition,
    Phase,
    Progress,
    ReplicaStatus,
    Restarts,
    Status,
    TaskState,
    TaskStatus,
)

# Text as it can stand in JSON files and in etcd: no lone surrogates.
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
counts = st.integers(0, 10**6)
from_1 = st.integers(1, 10**6)
times = st.integers(0, 4 * 10**15).map(
    lambda microseconds: datetime(2000, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)
)
maybe_times = st.none() | times
names = st.builds(TaskName, st.sampled_from(ReplicaType), st.integers(0, 5000))


def made(model: type, **fields: st.SearchStrategy) -> st.SearchStrategy:
    """Draw a model with these fields. `st.builds` would also draw pydantic's aliases."""
    return st.fixed_dictionaries(fields).map(lambda values: model(**values))


rows = made(
    TaskStatus,
    name=names,
    attempt=from_1,
    uid=st.none() | texts.map(Uid),
    state=st.sampled_from(TaskState),
    failures_in_a_row=counts,
    refused=counts,
    retry_at=maybe_times,
    started_at=maybe_times,
    finished_at=maybe_times,
    exit_code=st.none() | st.integers(0, 255),
    reason=texts,
    message=texts,
    step=st.none() | counts,
)
numbers = st.floats(allow_nan=False)
any_status = made(
    Status,
    phase=st.sampled_from(Phase),
    conditions=st.lists(
        made(
            Condition,
            type=st.sampled_from(["ClusterReady", "Succeeded", "Failed"]),
            status=st.sampled_from(["True", "False"]),
            reason=texts,
            message=texts,
            last_transition_time=times,
        ),
        max_size=2,
    ).map(tuple),
    epoch=from_1,
    start_time=maybe_times,
    completion_time=maybe_times,
    last_transition_time=maybe_times,
    replica_statuses=st.dictionaries(
        st.sampled_from(ReplicaType), made(ReplicaStatus, desired=counts, restarts=counts)
    ),
    restarts=made(Restarts, application=counts, infrastructure=counts),
    tasks=st.lists(rows, max_size=3).map(tuple),
    progress=st.none()
    | made(
        Progress,
        step=counts,
        steps_per_second=st.none() | numbers,
        metrics=st.dictionaries(texts, numbers, max_size=3),
        updated_at=maybe_times,
    ),
    failure=st.none() | texts,
)


@pytest.mark.e2e
@given(any_status)
def test_a_written_status_is_read_back_without_loss(status: Status) -> None:
    document = status_json.render(status)
    assert status_json.load(json.loads(json.dumps(document, allow_nan=False))) == status
    assert status_json.render(status_json.load(document)) == document


def test_metrics_that_are_not_finite_survive() -> None:
    metrics = {"loss": float("nan"), "max": float("inf"), "min": float("-inf")}
    document = status_json.render(Status(progress=Progress(step=1, metrics=metrics)))
    assert document["progress"]["metrics"] == {"loss": "NaN", "max": "Infinity", "min": "-Infinity"}
    again = status_json.load(document)
    assert status_json.render(again) == document
    assert again.progress is not None
    assert list(again.progress.metrics) == ["loss", "max", "min"]


def test_the_document_has_the_names_of_the_api() -> None:
    at = datetime(2026, 11, 2, 10, 0, 0, 500_000, tzinfo=UTC)
    row = TaskStatus(
        name=TaskName.parse("worker-1"), failures_in_a_row=2, retry_at=at, exit_code=137
    )
    status = Status(
        tasks=(row,), start_time=at, replica_statuses={ReplicaType.WORKER: ReplicaStatus(desired=1)}
    )
    document = status_json.render(status)
    assert document["startTime"] == "2026-11-02T10:00:00.500000Z"
    assert document["replicaStatuses"]["worker"]["desired"] == 1
    assert document["restarts"] == {"application": 0, "infrastructure": 0}
    assert document["tasks"] == [
        {
            "name": "worker-1",
            "attempt": 1,
            "state": "Pending",
            "failuresInARow": 2,
            "retryAt": "2026-11-02T10:00:00.500000Z",
            "exitCode": 137,
            "reason": "",
            "message": "",
        }
    ]
    assert "completionTime" not in document


def test_a_status_written_by_a_newer_controller_can_be_read() -> None:
    assert status_json.load({"phase": "Running", "fromTheFuture": 1}) == Status(phase=Phase.RUNNING)


SINCE = "2026-11-02T10:00:00Z"


@pytest.mark.parametrize(
    "kind, holds",
    [("QuotaReserved", "True"), ("ClusterReady", "Unknown"), (None, "True"), ([], {})],
)
def test_conditions_of_other_writers_are_ignored_and_not_written(
    kind: object, holds: object
) -> None:
    ours = {"type": "PodsScheduled", "status": "True", "reason": "R", "lastTransitionTime": SINCE}
    theirs = {"type": kind, "status": holds, "reason": "R", "lastTransitionTime": SINCE}
    status = status_json.load({"conditions": [theirs, ours]})
    assert status_json.render(status)["conditions"] == [ours | {"message": ""}]


@pytest.mark.parametrize(
    "document",
    [
        {"phase": "Melting"},
        {"tasks": [{"name": "boss-0"}]},
        {"startTime": "2026-01-01T00:00:00"},
        {"epoch": 0},
        {"restarts": {"application": -1}},
        {"tasks": [{"name": "ps-0", "attempt": 0}]},
        {"tasks": [{"name": "ps-0", "refused": -1}]},
        {"removed": {"worker-1": 0}},
        {"runningSeconds": -0.5},
    ],
)
def test_a_document_that_is_not_a_status_is_refused(document: dict[str, object]) -> None:
    with pytest.raises(pydantic.ValidationError):
        status_json.load(document)


def test_a_row_is_found_by_its_name() -> None:
    row = TaskStatus(name=TaskName.parse("ps-0"))
    assert Status(tasks=(row,)).task(TaskName.parse("ps-0")) is row
    with pytest.raises(KeyError):
        Status(tasks=(row,)).task(TaskName.parse("ps-1"))


@pytest.mark.parametrize("phase", Phase)
def test_only_success_and_failure_are_final(phase: Phase) -> None:
    assert phase.is_final is (phase.value in ("Succeeded", "Failed"))
