"""`capstanctl render`: print the objects that the operator would create for a job. Offline."""

import argparse
from typing import Any

from capstan_operator.api.names import Uid
from capstan_operator.api.spec import TrainingJob
from capstan_operator.cli import documents
from capstan_operator.manifests import pod, service

NO_UID = Uid("00000000-0000-0000-0000-000000000000")
"""The placeholder for the UID, which only an API server gives."""


def render(options: argparse.Namespace) -> int:
    """Print the objects; return the exit status. Raises errors.Invalid."""
    job = documents.job(options.file).with_uid(NO_UID)
    if options.namespace is not None:
        moved = job.metadata.model_copy(update={"namespace": options.namespace})
        job = job.model_copy(update={"metadata": moved})
    documents.show([_in_order(manifest) for manifest in objects(job)], options.output)
    return 0


def objects(job: TrainingJob) -> list[dict[str, Any]]:
    """Return the Service and the pods of the first attempts, in the order of their creation."""
    environment = pod.environment(job)
    pods = [pod.pod(job, task, environment, attempt=1, epoch=1) for task in job.tasks()]
    return [service.service(job), *pods]


def _in_order(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return an object whose identifying fields, such as its kind and name, come first."""
    head = {field: manifest[field] for field in ("apiVersion", "kind", "metadata")}
    return head | manifest
