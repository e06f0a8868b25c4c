"""Advice about a pod that the API server has refused, or whose template must be corrected."""

from capstan_operator.api.status import TaskState, TaskStatus
from capstan_operator.manifests import admitted
from capstan_operator.reconcile import observe
from capstan_operator.report.job import Job

_CURES = {
    "failed calling webhook": "repair the admission webhook that the message names, or let the "
    "cluster's administrator repair it",
    "violates PodSecurity": "set the fields of the security context that the message names in the "
    "template, or let the namespace enforce another level",
    "exceeded quota": "free a part of the quota that the message names, or raise it: kubectl "
    "describe quota{flags}",
    " must specify ": "let the template name the requests and limits that the message lists, or "
    "let a LimitRange of the namespace set them",
    " usage per ": "let the template keep the limits of the namespace, or change these: kubectl "
    "describe limits{flags}",
}
"""What to do about a pod that was refused, by words in the message of the API server."""
_OTHER_CURE = (
    "change the quota or policy that the message names, or create what the message does not find"
)


def is_refused(row: TaskStatus) -> bool:
    """Return whether the last start was refused. The next one may be under way.

    A start whose name is taken does not count: the condition NameConflict has its own advice.
    """
    if row.reason == observe.NAME_CONFLICT:
        return False
    tries_again = row.state is TaskState.PENDING and row.uid is None and not row.waiting
    return row.state is TaskState.CREATE_FAILED or (tries_again and row.refusals_in_a_row > 0)


def cure(job: Job, row: TaskStatus) -> str:
    """Return what to do about the refused pod of a task."""
    if job.is_local:
        return f"Make room on this machine: it refused to start {row.name}. capstanctl tries again."
    if row.message.startswith(admitted.CHANGES):
        return (
            f"The operator cannot use the pod of {row.name}, and tries again: exempt the pods of "
            "the job from the webhook: kubectl get mutatingwebhookconfigurations."
        )
    causes = (cure for words, cure in _CURES.items() if words in row.message)
    what = next(causes, _OTHER_CURE).format(flags=job.flags)
    return (
        f"The API server refused the pod of {row.name}, and the operator tries again: {what}. "
        f"{another_template(job)}"
    )


def another_template(job: Job) -> str:
    """Return how to change the template of a job. Its fields cannot be changed."""
    return (
        f"To change the template, delete the job ({job.command('delete')}), correct its file, and "
        "submit it again."
    )
