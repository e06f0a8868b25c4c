"""Whether the operator adds a readiness probe to a task: only if the task runs Capstan's runtime.

The probe asks the task's server for `grpc.health.v1`. A server of TensorFlow does not have this
service, and a program may have no server at all, so a probe would make such tasks unready for ever.
The operator knows in two cases that a task answers:

    the command of the trainer has the words `-m capstan`     the task is a server of Capstan
    the job has reported progress on its server               a server of Capstan answered, and
                                                              all tasks of a cluster run one runtime

An evaluator is not part of the cluster and has no server. A template with a probe keeps its own. A
kubelet asks without encryption. With `tls.mode: Mutual` its probe therefore only connects, and a
task whose template has certificates of its own gets no probe.
"""

from itertools import pairwise

from capstan_operator.api.names import ReplicaType, TaskName
from capstan_operator.api.spec import TrainingJob
from capstan_operator.api.status import Status
from capstan_operator.manifests import certificates


def is_probed(job: TrainingJob, status: Status, task: TaskName) -> bool:
    """Return whether the next attempt of a task gets a readiness probe."""
    if task.type is ReplicaType.EVALUATOR or _is_encrypted(job, task):
        return False
    return status.progress is not None or _is_server(job, task)


def _is_encrypted(job: TrainingJob, task: TaskName) -> bool:
    """Return whether the template of a task has certificates of its own."""
    if certificates.is_mutual(job):
        return False
    trainer = job.replica(task.type).template.trainer
    return any(variable.name == "CAPSTAN_TLS_DIR" for variable in trainer.env)


def _is_server(job: TrainingJob, task: TaskName) -> bool:
    trainer = job.replica(task.type).template.trainer
    return ("-m", "capstan") in pairwise((*trainer.command, *trainer.args))
