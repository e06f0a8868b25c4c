"""Metrics for Prometheus.

The counters of jobs and tasks grow only when a status is written. A pass that is repeated after a
crash therefore counts nothing twice.
"""

import heapq
from collections import Counter as Tally
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

import prometheus_client as prometheus
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from capstan_operator.api.status import Phase, Status, TaskStatus
from capstan_operator.app.queue import WorkQueue
from capstan_operator.kube.table import Key
from capstan_operator.report import goodput

SECONDS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 14400)
"""A job may wait for a quota, for nodes or for an image for hours."""
PASS_SECONDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30)
LIMITS = ("application", "infrastructure")
RESULTS = ("ok", "error")
OF_A_JOB = ("job_namespace", "job_name")
"""Prometheus itself sets labels of the names `namespace` and `job`."""
CONTENT_TYPE = prometheus.CONTENT_TYPE_LATEST


@dataclass(frozen=True, slots=True)
class _Active:
    """The facts of an unfinished job that the metrics of this job show."""

    began: datetime
    times: goodput.Account
    step: int | None


class Metrics(Collector):
    """All metrics of one operator process, in a registry of its own.

    At most `most_jobs` jobs have metrics of their own: the unfinished jobs that began first. When
    one of them ends, the next job gets them.
    """

    def __init__(self, queue: WorkQueue, clock: Callable[[], datetime], most_jobs: int) -> None:
        # Else each counter and histogram has a second time series: the time of its creation. The
        # library has one switch for all registries.
        prometheus.disable_created_metrics()  # type: ignore[no-untyped-call]
        registry = self._registry = prometheus.CollectorRegistry()
        self._queue = queue
        self._clock = clock
        self._most_jobs = most_jobs
        self._phases: dict[Key, Phase] = {}
        self._active: dict[Key, _Active] = {}
        self._restarts = prometheus.Counter(
            "capstan_task_restarts", "Attempts of tasks after the first attempt",
            ["replica_type", "reason"], registry=registry,
        )  # fmt: skip
        self._charged = prometheus.Counter(
            "capstan_job_restarts", "Restarts that count towards a limit of a job",
            ["limit"], registry=registry,
        )  # fmt: skip
        self._finished = prometheus.Counter(
            "capstan_jobs_finished",
            "Jobs that have succeeded or failed",
            ["phase"],
            registry=registry,
        )
        self._to_running = prometheus.Histogram(
            "capstan_job_time_to_running_seconds", "From the first pass until all tasks ran",
            buckets=SECONDS, registry=registry,
        )  # fmt: skip
        self._recovery = prometheus.Histogram(
            "capstan_task_recovery_seconds", "From the end of an attempt until the next one ran",
            ["replica_type"], buckets=SECONDS, registry=registry,
        )  # fmt: skip
        self.pass_seconds = prometheus.Histogram(
            "capstan_reconcile_seconds", "Seconds that a pass over one job took",
            ["result"], buckets=PASS_SECONDS, registry=registry,
        )  # fmt: skip
        self._api_errors = prometheus.Counter(
            "capstan_api_errors", "Requests that failed; code 0 means no answer",
            ["verb", "resource", "code"], registry=registry,
        )  # fmt: skip
        self._missing_rights = prometheus.Counter(
            "capstan_missing_rights", "Requests that the operator lacks the right to make",
            ["verb", "resource"], registry=registry,
        )  # fmt: skip
        self.repaired = prometheus.Counter(
            "capstan_resync_repaired", "Jobs with a change that no watch reported",
            registry=registry,
        )  # fmt: skip
        self.refused_statuses = prometheus.Gauge(
            "capstan_refused_statuses",
            "Jobs whose status is refused, because the CRD is older than the operator",
            registry=registry,
        )
        self.leader = prometheus.Gauge(
            "capstan_leader", "1 while this process holds the Lease", registry=registry
        )
        registry.register(self)
        self._begin_at_zero()

    def _begin_at_zero(self) -> None:
        """Make the samples of each known label. To Prometheus, a sample that appears with the value
        1 has not increased.
        """
        for phase in filter(lambda phase: phase.is_final, Phase):
            self._finished.labels(phase.value)
        for limit in LIMITS:
            self._charged.labels(limit)
        for result in RESULTS:
            self.pass_seconds.labels(result)

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics that are computed at each scrape."""
        jobs = GaugeMetricFamily("capstan_jobs", "TrainingJobs by phase", labels=["phase"])
        tally = Tally(self._phases.values())
        for phase in Phase:
            jobs.add_metric([phase.value], tally[phase])
        yield jobs
        yield from self._of_jobs()
        yield GaugeMetricFamily(
            "capstan_queue_depth", "Jobs that wait for a pass", value=self._queue.depth
        )
        yield GaugeMetricFamily(
            "capstan_failing_jobs",
            "Jobs whose passes have failed several times in a row",
            value=self._queue.failing,
        )
        yield GaugeMetricFamily(
            "capstan_queue_oldest_seconds", "Seconds since the oldest job became due",
            value=self._queue.oldest_seconds,
        )  # fmt: skip

    def _of_jobs(self) -> Iterator[Metric]:
        """Yield the metrics that show single jobs."""
        shares = GaugeMetricFamily(
            "capstan_job_goodput_ratio",
            "Share of the time of an unfinished job in which all its tasks ran",
            labels=OF_A_JOB,
        )
        steps = GaugeMetricFamily(
            "capstan_job_step", "Last training step that a job has reported", labels=OF_A_JOB
        )
        now = self._clock()
        shown = heapq.nsmallest(
            self._most_jobs, self._active.items(), key=lambda each: (each[1].began, each[0])
        )
        for key, active in shown:
            if (share := active.times.share(now)) is not None:
                shares.add_metric(key, share)
            if active.step is not None:
                steps.add_metric(key, active.step)
        yield shares
        yield steps

    def text(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        return prometheus.generate_latest(self._registry)

    def asked(self, verb: str, resource: str, status: int, lacks_right: bool) -> None:
        """Count a request to the API server if it failed. An observer for `Rest.connect`."""
        if status == 0 or status >= 400:
            self._api_errors.labels(verb, resource, str(status)).inc()
        if lacks_right:
            self._missing_rights.labels(verb, resource).inc()

    def note_phase(self, key: Key, phase: Phase) -> None:
        """Count a job under this phase in `capstan_jobs`."""
        self._phases[key] = phase

    def note(self, key: Key, status: Status) -> None:
        """Show a job with this status in the metrics that are computed at each scrape."""
        self.note_phase(key, status.phase)
        if status.phase.is_final or status.start_time is None:
            self._active.pop(key, None)
        else:
            step = None if status.progress is None else status.progress.step
            self._active[key] = _Active(status.start_time, goodput.account(status), step)

    def forget(self, key: Key) -> None:
        """Show a job no longer in the metrics that are computed at each scrape."""
        self._phases.pop(key, None)
        self._active.pop(key, None)

    def written(self, key: Key, before: Status, after: Status) -> None:
        """Count the changes between two written statuses of a job."""
        self.note(key, after)
        if after.phase.is_final and not before.phase.is_final:
            self._finished.labels(after.phase.value).inc()
        elif after.phase is Phase.RUNNING and not _has_run(before) and after.start_time:
            moved = after.last_transition_time or after.start_time
            # Between two passes, the clock may have been set back.
            self._to_running.observe(max((moved - after.start_time).total_seconds(), 0.0))
        for limit in LIMITS:
            more = getattr(after.restarts, limit) - getattr(before.restarts, limit)
            self._charged.labels(limit).inc(max(more, 0))
        rows = {row.name: row for row in before.tasks}
        for row in after.tasks:
            if row.name in rows:
                self._row(rows[row.name], row)

    def _row(self, before: TaskStatus, after: TaskStatus) -> None:
        kind = after.name.type.value
        # An attempt that has run nothing does not count as a restart.
        if after.attempt - after.refused > before.attempt - before.refused:
            self._restarts.labels(kind, after.reason or "Error").inc()
        began = before.started_at is None and after.started_at is not None
        if began and after.attempt > 1 and after.started_at and after.finished_at:
            seconds = (after.started_at - after.finished_at).total_seconds()
            self._recovery.labels(kind).observe(max(seconds, 0.0))


def _has_run(before: Status) -> bool:
    """Return whether all tasks have been running at some time.

    A job that ran and has new workers is Starting again, but waits since a time after its start.
    """
    is_first = before.pending_since in (None, before.start_time)
    return before.phase not in (Phase.PENDING, Phase.STARTING) or not is_first
