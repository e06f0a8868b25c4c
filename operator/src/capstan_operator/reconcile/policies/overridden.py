"""Which fields of a template have no effect, because tasks need the operator's own values.

    field of the template                                    the operator's value
    spec.restartPolicy, other than Never                     Never: the operator restarts tasks
    spec.hostname, spec.subdomain, spec.setHostnameAsFQDN    the name of the task in DNS
    variables of the contract, such as TF_CONFIG             those of the task

The API server accepts these fields, so only an event can tell the user.
"""

from collections.abc import Iterator

from capstan_operator.api.names import ReplicaType
from capstan_operator.api.spec import TrainingJob
from capstan_operator.manifests import certificates, cluster
from capstan_operator.reconcile import words
from capstan_operator.reconcile.actions import Announce, NewsType

_NO_EFFECT = {
    "restartPolicy": ("Never", None),
    "hostname": ("", None),
    "subdomain": ("", None),
    "setHostnameAsFQDN": (False, None),
}
"""The values that do not differ from an absent field, or from the operator's value."""


def news(job: TrainingJob) -> tuple[Announce, ...]:
    """Return one warning that names all fields without effect, or nothing if there are none."""
    found = [
        field
        for kind, replica in job.spec.replica_specs.items()
        if replica.replicas
        for field in _fields(job, kind)
    ]
    if not found:
        return ()
    line = f"the operator sets these fields itself, and ignores the job's: {words.listed(found)}"
    return (Announce(NewsType.WARNING, "FieldsIgnored", line),)


def _fields(job: TrainingJob, kind: ReplicaType) -> Iterator[str]:
    """Yield the paths of the fields without effect in the template of a replica type."""
    pod = job.replica(kind).template.spec
    path = f"spec.replicaSpecs.{kind}"
    given = pod.model_extra or {}
    for field, values in _NO_EFFECT.items():
        if given.get(field) not in values:
            instead = f" (see {path}.restartPolicy)" if field == "restartPolicy" else ""
            yield f"{path}.template.spec.{field}{instead}"
    ours = _variables(job)
    set_in_template = {
        variable.name
        for container in (*pod.init_containers, *pod.containers)
        for variable in container.env
    }
    for name in sorted(ours & set_in_template):
        yield f"{path}.template: the variable {name}"


def _variables(job: TrainingJob) -> frozenset[str]:
    environment = cluster.Environment(
        cluster="",
        checkpoint_dir=None if job.spec.checkpoint is None else job.spec.checkpoint.path,
        cluster_file="",
        tls_dir="" if certificates.is_mutual(job) else None,
    )
    return frozenset(environment.of(job.tasks()[0], attempt=1, epoch=1))
