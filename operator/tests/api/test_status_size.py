"""A status fits into one object of Kubernetes for any number of tasks. A shortened
status keeps all fields that the operator needs for its decisions.
"""

import json
from datetime import UTC, datetime

import pytest

from capstan_operator.api import status_json
from capstan_operator.api.names import ReplicaType, TaskName, Uid
from capstan_operator.api.status import Status, TaskState, TaskStatus

NOW = datetime(2026, 11, 2, 10, 0, tzinfo=UTC)


def row(index: int, state: TaskState = TaskState.RUNNING, *, message: str = "") -> TaskStatus:
    return TaskStatus(
        name=TaskName(ReplicaType.WORKER, index),
        attempt=3,
        uid=Uid("5f0a1c1e-8f2b-4a6e-9f53-5a1e1d6f2c11"),
        state=state,
        failures_in_a_row=2,
        infrastructure_restarts=10,
        retry_at=NOW if state is TaskState.BACK_OFF else None,
        started_at=NOW,
        finished_at=NOW,
        exit_code=1,
        reason="Error",
        message=message,
        step=1200,
        pod=f"digits-worker-{index}",
        node="a-node-with-quite-a-long-name.example.com",
        failed_node="another-node-with-a-long-name.example.com",
        avoided_node="another-node-with-a-long-name.example.com",
    )


def size(status: Status) -> int:
    return len(
        json.dumps(status_json.render(status), separators=(",", ":"), ensure_ascii=False).encode()
    )


def again(status: Status) -> Status:
    return status_json.load(status_json.render(status))


def table(*rows: TaskStatus) -> Status:
    return Status(tasks=rows)


def test_a_table_that_fits_is_written_in_full() -> None:
    status = table(*(row(index, message="é" * 250) for index in range(750)))
    assert size(status) <= status_json.MAX_BYTES
    assert again(status) == status


@pytest.mark.e2e
def test_messages_are_shortened_and_failed_and_avoided_nodes_left_out_first() -> None:
    status = table(*(row(index, message="x" * 999 + "end") for index in range(1100)))
    trimmed = again(status)
    assert size(status) <= status_json.MAX_BYTES
    assert {row.message for row in trimmed.tasks} == {"x" * 125 + "end"}
    left_out = {"message": "", "failed_node": "", "avoided_node": ""}
    assert [row.model_copy(update={"message": ""}) for row in trimmed.tasks] == [
        row.model_copy(update=left_out) for row in status.tasks
    ]


@pytest.mark.e2e
def test_healthy_rows_lose_their_messages_before_failed_rows_do() -> None:
    healthy = [row(index, message="m" * 300) for index in range(2700)]
    bad = [row(index, TaskState.BACK_OFF, message="m" * 300) for index in range(2700, 2800)]
    trimmed = again(table(*healthy, *bad))
    assert size(trimmed) <= status_json.MAX_BYTES
    assert {row.message for row in trimmed.tasks[:2700]} == {""}
    assert {(row.message, row.node) for row in trimmed.tasks[2700:]} == {
        ("m" * 128, "a-node-with-quite-a-long-name.example.com")
    }


@pytest.mark.e2e
@pytest.mark.parametrize("count, length", [(1100, 1000), (2800, 100), (3800, 0)])
def test_a_status_of_any_size_keeps_the_fields_that_decisions_need(count: int, length: int) -> None:
    rows = [row(index, message="ü" * length) for index in range(count - 9)]
    rows += [row(index, TaskState.BACK_OFF) for index in range(count - 9, count)]
    status = table(*rows)
    trimmed = again(status)
    assert size(trimmed) <= status_json.MAX_BYTES
    kept = ("name", "attempt", "uid", "state", "failures_in_a_row", "retry_at", "finished_at")
    kept += ("infrastructure_restarts",)
    kept += ("started_at", "exit_code", "reason")
    for before, after in zip(status.tasks, trimmed.tasks, strict=True):
        assert [getattr(after, field) for field in kept] == [
            getattr(before, field) for field in kept
        ]


@pytest.mark.e2e
@pytest.mark.parametrize("count, length", [(1100, 1000), (2800, 100), (3800, 1000)])
def test_a_trimmed_status_is_written_the_same_in_the_next_pass(count: int, length: int) -> None:
    status = table(*(row(index, message="m" * length) for index in range(count)))
    written = status_json.render(status)
    rows = [
        row.model_copy(update={"node": full.node, "step": full.step, "pod": full.pod})
        for row, full in zip(again(status).tasks, status.tasks, strict=True)
    ]
    assert status_json.render(table(*rows)) == written


@pytest.mark.e2e
def test_failed_rows_of_a_thousand_tasks_fit_with_the_longest_names_of_nodes() -> None:
    longest = {"state": TaskState.BACK_OFF, "retry_at": NOW, "message": "x" * 1000}
    longest |= dict.fromkeys(("node", "failed_node", "avoided_node"), "n" * 253)
    rows = [row(index).model_copy(update=longest) for index in range(1000)]
    assert size(table(*rows)) <= status_json.MAX_BYTES
