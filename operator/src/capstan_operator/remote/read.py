"""Reads the manifests, statuses, logs and measurements that a cluster returns."""

from datetime import datetime
from typing import Any

import pydantic

from capstan_operator.api import names, status_json
from capstan_operator.api.spec import RunPolicy
from capstan_operator.api.status import Status
from capstan_operator.errors import Fault, Invalid
from capstan_operator.kube import pod_fields
from capstan_operator.kube.rest import Manifest
from capstan_operator.manifests import volume_claim
from capstan_operator.report import tasks
from capstan_operator.report.output import Line
from capstan_operator.report.tasks import Usage


def run_policy(manifest: Manifest) -> RunPolicy:
    """Return the limits on a job, or the defaults if another version wrote limits that this one
    does not understand.
    """
    try:
        return RunPolicy.model_validate(manifest.get("spec", {}).get("runPolicy") or {})
    except pydantic.ValidationError:
        return RunPolicy()


def claim(manifest: Manifest) -> str:
    """Return the claim that is deleted together with a job, or "" if it has none of its own."""
    checkpoint = manifest.get("spec", {}).get("checkpoint") or {}
    has_own = bool(checkpoint.get("volumeClaim"))
    return volume_claim.name_for(manifest["metadata"]["name"]) if has_own else ""


def trainer(pod: Manifest) -> str:
    """Return the container of a pod that is the task."""
    containers = [str(container["name"]) for container in pod["spec"]["containers"]]
    return names.TRAINER if names.TRAINER in containers else containers[0]


def has_output(pod: Manifest) -> bool:
    """Say whether the trainer of a pod has begun to run, so that there is a log."""
    status = pod_fields.container(pod, trainer(pod))
    return any(pod_fields.state(status, kind) is not None for kind in ("running", "terminated"))


def status(name: str, document: Any) -> Status:
    """Return the status of job `name` from its document, which is None before the first pass.

    Raises errors.Invalid if a newer operator wrote it.
    """
    try:
        return status_json.load(document or {})
    except pydantic.ValidationError:
        message = f"the status of job {name!r} cannot be read; a newer operator may have written it"
        raise Invalid((Fault("", message),)) from None


def line(raw: bytes) -> Line:
    """Split a line of a log into its time and its text."""
    stamp, blank, text = raw.rstrip(b"\r").decode(errors="replace").partition(" ")
    try:
        # Kubelets write nine decimals, and Python reads six.
        seconds, dot, rest = stamp.partition(".")
        digits = rest.rstrip("Z") if rest.endswith("Z") else ""
        read = f"{seconds}.{digits[:6]:0<6}+00:00" if dot and digits else stamp
        return Line(text, datetime.fromisoformat(read))
    except ValueError:
        return Line(stamp + blank + text)


def usage(pod: Manifest) -> Usage:
    """Return what the containers of a measured pod use, each amount None if nothing measured it."""
    containers = [container.get("usage") or {} for container in pod.get("containers") or ()]
    return Usage(cpu=_sum(containers, "cpu"), memory=_sum(containers, "memory"))


def _sum(containers: list[Manifest], resource: str) -> float | None:
    read = [tasks.quantity(str(used[resource])) for used in containers if resource in used]
    known = [amount for amount in read if amount is not None]
    return sum(known) if known else None
