"""A job as a user finds it: its status, and the place that keeps it."""

import re
from dataclasses import dataclass, field

from capstan_operator.api import names
from capstan_operator.api.spec import RunPolicy
from capstan_operator.api.status import Status
from capstan_operator.reconcile import suspend

_POD = re.compile(rf"(?P<job>.+)-(?P<task>(?:{'|'.join(names.ReplicaType)})-\d+)", re.ASCII)


def of_pod(name: str) -> str:
    """Return the end of a message that no job has this name, if it looks like the name of a pod.

    >>> of_pod("digits-ps-0"), of_pod("digits")
    ('; the pod of this name is ps-0 of the job digits', '')
    """
    found = _POD.fullmatch(name)
    if found is None:
        return ""
    return f"; the pod of this name is {found['task']} of the job {found['job']}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One job at one moment."""

    name: str
    place: str
    """The place in words: `namespace team-a`, or `.capstan/digits`."""
    flags: str = ""
    """The flags with which another command finds the same job. Empty for a local job."""
    is_local: bool
    manager: str = names.MANAGER
    """The controller that runs the job (`spec.managedBy`)."""
    status: Status
    is_observed: bool = True
    """Whether the job has a status. Without one, no operator has looked at the job yet."""
    uid: str = ""
    """The identity of the job. Empty for a local job."""
    generation: int | None = None
    """The version of the job's spec. None for a local job."""
    run_policy: RunPolicy = field(default_factory=RunPolicy)
    """The limits on the job (`spec.runPolicy`). A local job has the defaults: its spec is not kept.
    """
    claim: str = ""
    """The PersistentVolumeClaim that is deleted with the job, or "" if it has none of its own."""
    is_deleted: bool = False
    """Whether the deletion of the job is under way."""
    is_run: bool = True
    """For a local job: whether a `capstanctl run` runs it, or its tasks have not ended yet."""

    @property
    def is_over(self) -> bool:
        """Whether the job has succeeded or failed."""
        return self.status.phase.is_final

    @property
    def held_by_finalizers(self) -> str:
        """Which finalizers hold the deleted job, in a sentence, or "" if none is known."""
        found = (each.message for each in self.status.conditions if each.reason == suspend.DELETED)
        return next(found, "") if self.is_deleted else ""

    @property
    def is_behind(self) -> bool:
        """Whether the operator has not looked at the last change of the spec yet."""
        seen = self.status.observed_generation
        return not self.is_over and None not in (seen, self.generation) and seen != self.generation

    def command(self, verb: str) -> str:
        """Return the command that does `verb` to the job."""
        return f"capstanctl {verb} {self.name}{self.flags}"
