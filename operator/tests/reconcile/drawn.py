"""Random jobs, and random values of the events that happen to them.

The jobs have every field of the spec that changes while a job lives, or that decides how it lives.
"""

import hypothesis
from hypothesis import strategies as st
from reconcile.world import make_job

from capstan_operator.api.replicas import OnFailure, RestartPolicy
from capstan_operator.api.spec import (
    Checkpoint,
    CleanPodPolicy,
    Cluster,
    Gang,
    RunPolicy,
    Spec,
    SuccessPolicy,
    TrainingJob,
)

PHASES = set(hypothesis.Phase) - {hypothesis.Phase.explain}
"""All phases except `explain`, which traces every line and takes too long."""

CODES = st.sampled_from([None, 1, 2, 127, 130, 137, 138, 143, 255])
REASONS = st.sampled_from(["", "", "", "Error", "OOMKilled", "Evicted", "InitContainerFailed"])
SECONDS = st.sampled_from([0.0, 0.1, 1.0, 7.0, 100.0, 1000.0])
WORDS = st.sampled_from(["", "ValueError: boom", "step 3\n\n", "\x1b[31mred\x1b[0m\n"])

VOLUME_CLAIM = {"path": "/checkpoints", "volumeClaim": {"storage": "1Gi"}}
OF_OBJECTS = {
    "checkpoint": st.just(VOLUME_CLAIM),
    "cluster": st.just({"networkPolicy": True, "tls": {"mode": "Mutual"}}),
    "managedBy": st.just("capstan.dev/operator"),
}
"""Fields that only the objects of a job show, for example its pods and its claim."""


def run_policies(limits: st.SearchStrategy[int]) -> st.SearchStrategy[dict[str, object]]:
    return st.fixed_dictionaries(
        {
            "backoffLimit": limits,
            "infrastructureBackoffLimit": limits,
            "restartBackoff": st.fixed_dictionaries(
                {
                    "initialSeconds": st.sampled_from([0, 1, 5]),
                    "maxSeconds": st.sampled_from([5, 20]),
                    "resetAfterSeconds": st.sampled_from([0, 50, 600]),
                }
            ),
        },
        optional={
            "activeDeadlineSeconds": st.sampled_from([1, 60, 5000]),
            "pendingDeadlineSeconds": st.sampled_from([1, 60, 5000]),
            "progressDeadlineSeconds": st.sampled_from([1, 60]),
            "cleanPodPolicy": st.sampled_from(CleanPodPolicy),
            "ttlSecondsAfterFinished": st.sampled_from([0, 60]),
            "psGracePeriodSeconds": st.sampled_from([0, 7]),
            "evaluatorGracePeriodSeconds": st.sampled_from([0, 60]),
        },
    )


def replicas(
    restart: st.SearchStrategy[RestartPolicy], on_failure: st.SearchStrategy[OnFailure]
) -> st.SearchStrategy[dict[str, object]]:
    return st.fixed_dictionaries({"restartPolicy": restart, "onFailure": on_failure})


def jobs(
    restart: st.SearchStrategy[RestartPolicy],
    on_failure: st.SearchStrategy[OnFailure],
    limits: st.SearchStrategy[int],
) -> st.SearchStrategy[TrainingJob]:
    each = replicas(restart, on_failure)
    elastic = st.sampled_from([{}, {"minReplicas": 1, "maxReplicas": 3}])
    workers = st.builds(lambda fields, span: {**fields, **span}, each, elastic)
    scheduling = st.fixed_dictionaries(
        {},
        optional={
            "gang": st.sampled_from(Gang),
            "queueName": st.just("training"),
            "spreadParameterServers": st.just(False),
        },
    )
    return st.builds(
        lambda objects, **fields: make_job(**fields, **objects),
        objects=st.fixed_dictionaries({}, optional=OF_OBJECTS),
        chief=st.integers(0, 1),
        ps=st.integers(0, 2),
        workers=st.integers(1, 2),
        evaluator=st.integers(0, 1),
        each=st.fixed_dictionaries(
            {"chief": each, "ps": each, "worker": workers, "evaluator": each}
        ),
        run=run_policies(limits),
        successPolicy=st.sampled_from(SuccessPolicy),
        scheduling=scheduling,
    )


any_job = jobs(st.sampled_from(RestartPolicy), st.sampled_from(OnFailure), st.integers(0, 6))
job_that_restarts_single_tasks = jobs(
    st.just(RestartPolicy.ON_FAILURE), st.just(OnFailure.RESTART_TASK), st.integers(3, 100)
)

TIMES = st.sampled_from(
    [
        "active_deadline_seconds",
        "pending_deadline_seconds",
        "progress_deadline_seconds",
        "ttl_seconds_after_finished",
    ]
)
"""The times of a job that a user may change."""


def changed(job: TrainingJob, **fields: object) -> TrainingJob:
    """Return the job with other fields of its spec."""
    spec: Spec = job.spec.model_copy(update=fields)
    return job.model_copy(update={"spec": spec})


def with_workers(job: TrainingJob, workers: int) -> TrainingJob:
    """Return the job with another number of workers, as after `kubectl scale`."""
    assert job.spec.replica_specs.worker is not None
    worker = job.spec.replica_specs.worker.model_copy(update={"replicas": workers})
    return changed(job, replica_specs=job.spec.replica_specs.model_copy(update={"worker": worker}))


def with_time(job: TrainingJob, field: str, seconds: int | None) -> TrainingJob:
    """Return the job with another time of its run policy."""
    policy: RunPolicy = job.spec.run_policy.model_copy(update={field: seconds})
    return changed(job, run_policy=policy)


def without_objects(job: TrainingJob) -> TrainingJob:
    """Return the job without the fields that only its objects show."""
    plain = {"gang": Gang.AUTO, "spread_parameter_servers": True}
    scheduling = job.spec.scheduling.model_copy(update=plain)
    nothing: Checkpoint | None = None
    return changed(
        job, checkpoint=nothing, cluster=Cluster(), managed_by=None, scheduling=scheduling
    )
