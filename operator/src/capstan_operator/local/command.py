"""Turn a pod template into a command of this machine.

The command follows from the trainer's `command`, `args` and `env` and from the template's grace
period. The other fields only have an effect on a cluster; `ignored` names them. `python` is the
interpreter that runs `capstanctl`, and the working directory is the folder of the job file.
"""

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from capstan_operator.api.spec import CleanPodPolicy, Gang, TrainingJob
from capstan_operator.api.template import Container, PodModel, PodTemplate
from capstan_operator.local import interpreter
from capstan_operator.local.process import GRACE_SECONDS, Command

_PYTHON = frozenset({"python", "python3"})
_REFERENCE = re.compile(r"\$(?:(\$)|\(([^()$]+)\))")


def render(container: Container, given: Mapping[str, str], directory: Path) -> Command:
    """Return the command of a trainer, to be run in `directory`.

    `given` overrides the template's variables, and these override this process' environment.
    `$(NAME)` in command, args and values stands for a variable of `given` or of the template, as in
    Kubernetes. Never fails: names that cannot be found stay unchanged, and `complaint` or the start
    reports them.
    """
    variables = dict(given)
    for variable in container.env:
        if variable.value is not None:
            variables.setdefault(variable.name, _expand(variable.value, variables))
    words = (*container.command, *container.args) if container.command else ()
    argv = tuple(_expand(word, variables) for word in words)
    environment = _base() | variables
    if argv and argv[0] in _PYTHON:
        # Use the whole path, because Python finds its packages by the path of its executable.
        argv = (sys.executable, *argv[1:])
    name = argv[0] if argv else ""
    return Command(_find(name, environment, directory) or name, argv, environment, directory)


def grace_seconds(template: PodTemplate) -> float:
    """Return how long a task may take to end when `capstanctl` ends.

    If the template sets no time, the default is shorter than on a cluster, because the user waits
    for the end.
    """
    pod = template.spec
    is_set = "termination_grace_period_seconds" in pod.model_fields_set
    return pod.termination_grace_period_seconds if is_set else GRACE_SECONDS


def complaint(command: Command) -> str | None:
    """Return why this command could not start, in words for the user, or None if it can."""
    if not command.argv:
        return (
            "is missing: images and their entry points are not used on this machine; "
            "write the command that starts the task, such as [python, train.py]"
        )
    name, *arguments = command.argv
    if not os.access(command.executable, os.X_OK) or Path(command.executable).is_dir():
        where = f"in {command.directory}" if os.sep in name else "on the PATH"
        return (
            f"there is no executable {name!r} {where}; install it, or correct the name "
            "(the folder of the job file is the working directory)"
        )
    path = command.environment.get("PATH", os.defpath)
    if message := interpreter.complaint(Path(command.executable), command.directory, path):
        return message
    script = arguments[0] if arguments and name == sys.executable else ""
    if script.endswith(".py") and not (command.directory / script).is_file():
        return (
            f"there is no {script!r} in {command.directory}; correct the name "
            "(the folder of the job file is the working directory)"
        )
    return None


def ignored(job: TrainingJob) -> tuple[str, ...]:
    """Return the names of the fields that the job sets without effect on this machine."""
    names: dict[str, None] = {}
    if job.spec.checkpoint is not None:
        names["checkpoint"] = None
    if "domain" in job.spec.cluster.model_fields_set:
        names["cluster.domain"] = None
    if job.spec.scheduling.gang not in (Gang.AUTO, Gang.NONE):
        names["scheduling.gang"] = None
    if job.spec.scheduling.queue_name is not None:
        names["scheduling.queueName"] = None
    if job.spec.suspend:
        names["suspend"] = None
    if job.spec.managed_by is not None:
        names["managedBy"] = None
    if "clean_pod_policy" in job.spec.run_policy.model_fields_set:
        names["runPolicy.cleanPodPolicy"] = None
    if job.spec.run_policy.ttl_seconds_after_finished is not None:
        names["runPolicy.ttlSecondsAfterFinished"] = None
    for _, replica in job.spec.replica_specs.items():  # noqa: PERF102 - a model, not a dict
        names |= dict.fromkeys(_ignored(replica.template))
    return tuple(names)


def without_ignored(job: TrainingJob) -> TrainingJob:
    """Return the job with the policies that a run on this machine follows.

    No process outlives `capstanctl`, and the folder of a job stays. A user who calls
    `capstanctl run` wants the job to run, even if its file suspends it on a cluster.
    """
    policy = job.spec.run_policy.model_copy(
        update={"clean_pod_policy": CleanPodPolicy.RUNNING, "ttl_seconds_after_finished": None}
    )
    spec = job.spec.model_copy(update={"run_policy": policy, "suspend": False})
    return job.model_copy(update={"spec": spec})


def _ignored(template: PodTemplate) -> Iterator[str]:
    trainer = template.trainer
    yield from _set_fields(trainer, "name", "command", "args", "env")
    yield from (f"env {variable.name}" for variable in trainer.env if variable.value is None)
    yield from (
        f"container {container.name}"
        for container in template.spec.containers
        if container is not trainer
    )
    yield from _set_fields(template.spec, "containers", "terminationGracePeriodSeconds")
    yield from _set_fields(template, "spec")


def _set_fields(part: PodModel, *read: str) -> Iterator[str]:
    """Yield the fields that a part of a template sets, except those in `read`."""
    known = (
        field.alias or ""
        for name, field in type(part).model_fields.items()
        if name in part.model_fields_set
    )
    yield from (name for name in (*known, *(part.model_extra or ())) if name not in read)


def _base() -> dict[str, str]:
    """Return this process' environment with two additions."""
    # When a task is killed, the end of its output must be in the log, not in a buffer.
    base = {"PYTHONUNBUFFERED": "1", **os.environ}
    if sys.prefix != sys.base_prefix:
        # `sh -c "python ..."` must find the same interpreter, as in an active environment.
        base["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), base.get("PATH", "")))
    return base


def _find(name: str, environment: Mapping[str, str], directory: Path) -> str | None:
    if os.sep in name:
        return str(directory / name)
    return shutil.which(name, path=environment.get("PATH", os.defpath)) if name else None


def _expand(text: str, variables: Mapping[str, str]) -> str:
    """Replace `$(NAME)` by its value and `$$` by `$`. Unknown names stay unchanged."""

    def replaced(found: re.Match[str]) -> str:
        return "$" if found[1] else variables.get(found[2], found[0])

    return _REFERENCE.sub(replaced, text)
