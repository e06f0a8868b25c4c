"""Check a job before any of its tasks is started, and report all faults at once.

The file, the commands, the flags and the ports are checked independently, as far as faults of the
others allow. The job's folder is locked only if there are no faults.
"""

import contextlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from capstan_operator.api import parse
from capstan_operator.api.names import TaskName, Uid
from capstan_operator.api.spec import TrainingJob
from capstan_operator.errors import Fault, Invalid
from capstan_operator.local import command, folder, ports
from capstan_operator.local.run import LocalRun
from capstan_operator.manifests import cluster


@contextlib.contextmanager
def prepare(
    draft: parse.Draft, directory: Path, states: Path, port: ports.Base | None
) -> Iterator[LocalRun]:
    """Make a job ready to run in `directory`, and lock its folder in `states`.

    If `port` is None, the job's own port is used. If the job has none, free ports are chosen.
    Raises `errors.Invalid` with all faults, before anything has changed.
    """
    now = datetime.now(UTC)
    job = draft.sound
    faults = [*draft.faults, *_command_faults(job, directory, draft.faults)]
    addresses: Mapping[TaskName, str] = {}
    try:
        addresses = _addresses(job, port, seed=f"{now:%Y%m%dT%H%M%S.%f}")
    except Invalid as invalid:
        faults += invalid.faults
    if faults or job is None:
        raise Invalid(tuple(faults))
    job = job.with_uid(Uid(f"{job.metadata.name}-{now:%Y%m%dT%H%M%S.%f}"))
    locked = folder.claim(states / job.metadata.name)
    try:
        yield LocalRun(job, directory, locked, addresses)
    finally:
        locked.close()


def _addresses(
    job: TrainingJob | None, port: ports.Base | None, seed: str
) -> Mapping[TaskName, str]:
    """Return the address of every task that needs one. Raises the errors of `ports.choose`."""
    if port is None and job is not None and job.spec.cluster.port is not None:
        port = ports.Base(job.spec.cluster.port, "spec.cluster.port")
    members = () if job is None else cluster.members(job)
    chosen = ports.choose(seed, members, port)
    return {task: f"{ports.HOST}:{chosen[task]}" for task in members}


def _command_faults(
    job: TrainingJob | None, directory: Path, known: tuple[Fault, ...]
) -> Iterator[Fault]:
    """Yield a fault for each command that could not start.

    A command that is already at fault in the document is not checked again. Neither is the command
    of a type whose containers are at fault, because its trainer is unknown.
    """
    at_fault = [fault.path for fault in known]
    for kind, replica in () if job is None else job.spec.replica_specs.items():
        template = replica.template
        containers = f"spec.replicaSpecs.{kind}.template.spec.containers"
        path = f"{containers}[{template.trainer_index}].command"
        if containers in at_fault or any(fault_path.startswith(path) for fault_path in at_fault):
            continue
        if message := command.complaint(command.render(template.trainer, {}, directory)):
            yield Fault(path, message)
