"""In a progress file, valid fields are used and others are ignored. A step is required."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from capstan_operator.api import report as reports
from capstan_operator.api.names import TaskName
from capstan_operator.api.report import Report
from capstan_operator.local import progress

PS, WORKER_0, WORKER_1 = map(TaskName.parse, ("ps-0", "worker-0", "worker-1"))
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)


def report(step: int, second: int, saved: int | None = None, **metrics: float) -> Report:
    return Report(step, None, metrics, saved, NOON.replace(second=second))


def test_a_report_is_read(tmp_path: Path) -> None:
    file = tmp_path / "progress.json"
    file.write_text(
        '{"step": 12, "stepsPerSecond": 3, "metrics": {"accuracy": 0.5, "loss": 2},'
        ' "lastCheckpointStep": 10, "updatedAt": "2026-11-02T12:00:00Z"}'
    )
    assert progress.read(file) == Report(12, 3.0, {"accuracy": 0.5, "loss": 2.0}, 10, NOON)


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "null", "{}", "[" * 9999),
        *('{"step": "1"}', '{"step": true}', '{"step": -1}', '{"step": 9223372036854775808}'),
    ],
)
def test_a_file_without_a_step_is_not_a_report(tmp_path: Path, text: str) -> None:
    file = tmp_path / "progress.json"
    file.write_text(text)
    assert progress.read(file) is None
    assert progress.read(tmp_path / "none") is None


def test_metrics_that_repeat_the_step_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "progress.json"
    file.write_text('{"step": 7, "metrics": {"step": 6, "loss": 0.5, "global_step": 6}}')
    read = progress.read(file)
    assert read is not None
    assert read.metrics == {"loss": 0.5}


def test_values_that_are_not_finite_numbers_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "progress.json"
    file.write_text(
        '{"step": 1, "stepsPerSecond": "fast", "updatedAt": "now", "lastCheckpointStep": "1",'
        ' "metrics": {"a": NaN, "b": Infinity, "c": "1", "d": true, "e": 1e3, "f": [1]}}'
    )
    read = progress.read(file)
    assert read is not None
    assert (read.steps_per_second, read.metrics) == (None, {"e": 1000.0})
    assert read.last_checkpoint_step is None
    assert read.updated_at.timestamp() == pytest.approx(file.stat().st_mtime)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)
FIELDS = st.sampled_from(["step", "stepsPerSecond", "metrics", "lastCheckpointStep", "updatedAt"])


@pytest.mark.e2e
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    st.dictionaries(FIELDS, JSON)
    | st.builds(lambda rest: {"step": 1, **rest}, st.dictionaries(FIELDS, JSON))
)
def test_reading_any_document_raises_no_error(tmp_path: Path, document: dict[str, object]) -> None:
    file = tmp_path / "progress.json"
    file.write_text(json.dumps(document))
    read = progress.read(file)
    if read is not None:
        assert progress.of_job({WORKER_0: read}) is not None


def test_a_job_without_reports_has_no_progress() -> None:
    assert progress.of_job({}) is None


def test_the_step_of_a_job_is_that_of_the_latest_report() -> None:
    reports = {WORKER_0: report(2000, 1), WORKER_1: report(1800, 5), PS: report(1700, 3)}
    job = progress.of_job(reports)
    assert job is not None
    assert (job.step, job.updated_at) == (1800, NOON.replace(second=5))


def test_the_last_checkpoint_of_a_job_is_the_newest_that_a_task_reports() -> None:
    job = progress.of_job({WORKER_0: report(9, 1, 8), WORKER_1: report(9, 2), PS: report(9, 3, 4)})
    assert job is not None
    assert job.last_checkpoint_step == 8


def test_a_report_has_a_bounded_number_of_metrics_with_short_printable_names() -> None:
    metrics = {"a" * 129: 1, "b\n": 1, "": 1, **{str(number): number for number in range(99)}}
    found = reports.parse(json.dumps({"step": 1, "metrics": metrics}), NOON)
    assert found is not None
    assert found.metrics == {str(number): number for number in range(reports.MAX_METRICS)}


@pytest.mark.parametrize(
    "tasks, recorder",
    [
        ("worker-1 ps-0 worker-0", "worker-0"),
        ("ps-0 worker-2 worker-10", "worker-2"),
        ("worker-0 chief-0", "chief-0"),
        ("chief-0 evaluator-0 worker-0", "evaluator-0"),
        ("ps-0", "ps-0"),
    ],
)
def test_metrics_come_from_the_first_task_type_that_has_any(tasks: str, recorder: str) -> None:
    reports = {TaskName.parse(task): report(1, 1, **{task: 1.0}) for task in tasks.split()}
    job = progress.of_job(reports)
    assert job is not None
    assert job.metrics == {recorder: 1.0}


def test_metrics_keep_their_order_and_come_from_a_task_that_has_some() -> None:
    job = progress.of_job({WORKER_0: report(1, 1), WORKER_1: report(2, 2, b=3, a=9)})
    assert job is not None
    assert list(job.metrics.items()) == [("b", 3), ("a", 9)]
