"""The Events of a job, as `kubectl describe` shows them."""

from datetime import datetime, timedelta, timezone

from capstan_operator.kube import events
from capstan_operator.reconcile.actions import Announce, NewsType

JOB = {
    "metadata": {"name": "digits", "namespace": "team-a", "uid": "j", "resourceVersion": "7"},
}
NOW = datetime(2026, 11, 2, 12, 0, tzinfo=timezone(timedelta(hours=2)))


def test_an_event_is_about_the_job_and_names_the_operator() -> None:
    news = Announce(NewsType.WARNING, "TaskFailed", "worker-1: exit code 1")
    rendered = events.event(JOB, news, name="digits.1", now=NOW, instance="capstan-0")
    assert rendered["metadata"] == {"name": "digits.1", "namespace": "team-a"}
    assert rendered["regarding"]["kind"] == "TrainingJob"
    assert rendered["regarding"]["uid"] == "j"
    assert rendered["eventTime"] == "2026-11-02T10:00:00.000000Z"
    assert (rendered["type"], rendered["reason"]) == ("Warning", "TaskFailed")
    assert rendered["note"] == "worker-1: exit code 1"
    assert rendered["reportingController"] == "capstan.dev/operator"
    assert rendered["reportingInstance"] == "capstan-0"
    assert rendered["action"]


def test_a_note_is_cut_between_characters() -> None:
    news = Announce(NewsType.NORMAL, "Told", "ü" * 1000)
    note = events.event(JOB, news, name="e", now=NOW, instance="i")["note"]
    assert note == "ü" * 510 + "…"
    assert len(note.encode()) <= 1024
