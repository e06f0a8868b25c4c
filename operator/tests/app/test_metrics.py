"""The metrics as Prometheus reads them."""

from datetime import UTC, datetime, timedelta

from capstan_operator.api.status import Phase, Progress, Status
from capstan_operator.app.metrics import Metrics
from capstan_operator.app.queue import WorkQueue
from capstan_operator.kube.table import Key

NOW = datetime(2026, 11, 2, 12, tzinfo=UTC)


def made(most_jobs: int = 0) -> Metrics:
    return Metrics(WorkQueue(lambda: 0.0), lambda: NOW, most_jobs)


def samples(metrics: Metrics) -> dict[str, float]:
    lines = metrics.text().decode().splitlines()
    pairs = (line.rpartition(" ") for line in lines if not line.startswith("#"))
    return {name: float(value) for name, _, value in pairs}


def of_jobs(metrics: Metrics) -> dict[str, float]:
    return {name: value for name, value in samples(metrics).items() if "job_name=" in name}


def begun(seconds: float, phase: Phase = Phase.RUNNING, **more: object) -> Status:
    """Return the status of a job that began this many seconds ago, and began to run at once."""
    at = NOW - timedelta(seconds=seconds)
    fields = {"phase": phase, "start_time": at, "last_transition_time": at}
    return Status.model_validate(fields | more)


def test_the_first_failed_job_is_an_increase_of_its_counter() -> None:
    """`increase` does not count the step from a missing series to 1."""
    shown = samples(made())
    for name in (
        'capstan_jobs_finished_total{phase="Succeeded"}',
        'capstan_jobs_finished_total{phase="Failed"}',
        'capstan_job_restarts_total{limit="application"}',
        'capstan_job_restarts_total{limit="infrastructure"}',
        'capstan_reconcile_seconds_count{result="ok"}',
        'capstan_reconcile_seconds_count{result="error"}',
    ):
        assert shown[name] == 0


def test_an_unfinished_job_shows_its_goodput_and_its_step() -> None:
    metrics, key = made(1), Key("team-a", "digits")
    labels = '{job_name="digits",job_namespace="team-a"}'
    metrics.note(key, begun(100, progress=Progress(step=70)))
    assert of_jobs(metrics) == {
        f"capstan_job_goodput_ratio{labels}": 1,
        f"capstan_job_step{labels}": 70,
    }
    since = {"last_transition_time": NOW - timedelta(seconds=25), "running_seconds": 50}
    metrics.note(key, begun(100, Phase.DEGRADED, **since))
    assert of_jobs(metrics) == {f"capstan_job_goodput_ratio{labels}": 0.5}
    metrics.note(key, begun(100, **since))
    assert of_jobs(metrics) == {f"capstan_job_goodput_ratio{labels}": 0.75}


def test_a_job_that_is_over_suspended_or_gone_has_no_metrics_of_its_own() -> None:
    metrics, key = made(1), Key("team-a", "digits")
    for status in (begun(100, Phase.SUCCEEDED), begun(9, Phase.SUSPENDED, start_time=None)):
        metrics.note(key, begun(100))
        metrics.note(key, status)
        assert of_jobs(metrics) == {}
    metrics.note(key, begun(100))
    metrics.forget(key)
    assert of_jobs(metrics) == {}


def test_the_jobs_that_began_first_have_metrics_of_their_own_up_to_the_limit() -> None:
    metrics = made(2)
    for seconds in (30, 10, 40, 20):
        metrics.note(Key("team-a", f"since-{seconds}"), begun(seconds))

    def shown() -> set[str]:
        return {name.split('"')[1] for name in of_jobs(metrics)}

    assert shown() == {"since-40", "since-30"}
    metrics.note(Key("team-a", "since-40"), begun(40, Phase.FAILED))
    assert shown() == {"since-30", "since-20"}
    assert sum(value for name, value in samples(metrics).items() if "capstan_jobs{" in name) == 4


def test_a_quota_that_is_full_is_no_missing_right() -> None:
    metrics = made()
    metrics.asked("create", "pods", 403, lacks_right=False)
    metrics.asked("get", "nodes", 403, lacks_right=True)
    shown = samples(metrics)
    errors = {
        name: value for name, value in shown.items() if name.startswith("capstan_api_errors_t")
    }
    assert sum(errors.values()) == 2
    rights = {name: value for name, value in shown.items() if "missing_rights_total" in name}
    assert rights == {'capstan_missing_rights_total{resource="nodes",verb="get"}': 1}


def test_no_series_show_when_a_counter_was_created() -> None:
    assert not [name for name in samples(made()) if "_created" in name]
