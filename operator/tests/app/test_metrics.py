"""The metrics as Prometheus reads them."""

from capstan_operator.app.metrics import Metrics
from capstan_operator.app.queue import WorkQueue


def samples(metrics: Metrics) -> dict[str, float]:
    lines = metrics.text().decode().splitlines()
    pairs = (line.rpartition(" ") for line in lines if not line.startswith("#"))
    return {name: float(value) for name, _, value in pairs}


def test_the_first_failed_job_is_an_increase_of_its_counter() -> None:
    """`increase` does not count the step from a missing series to 1."""
    shown = samples(Metrics(WorkQueue(lambda: 0.0)))
    for name in (
        'capstan_jobs_finished_total{phase="Succeeded"}',
        'capstan_jobs_finished_total{phase="Failed"}',
        'capstan_job_restarts_total{limit="application"}',
        'capstan_job_restarts_total{limit="infrastructure"}',
        'capstan_reconcile_seconds_count{result="ok"}',
        'capstan_reconcile_seconds_count{result="error"}',
    ):
        assert shown[name] == 0
