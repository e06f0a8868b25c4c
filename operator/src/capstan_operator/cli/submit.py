"""`capstanctl submit`: check a job, and create it in a cluster."""

import argparse
import asyncio
from typing import Any

from capstan_operator.cli import documents, places
from capstan_operator.errors import Fault, Invalid


def submit(options: argparse.Namespace) -> int:
    """Create the job and return the exit status. Raises errors.OperatorError."""
    text = documents.text(options.file)
    documents.parsed(text, options.file)
    # Send the job as the user wrote it. The API server fills in the defaults.
    manifest = documents.manifest(text)
    created = asyncio.run(_create(options, manifest))
    if options.output is not None:
        documents.show([created], options.output)
        return 0
    metadata = created["metadata"]
    done = "would be created" if options.dry_run else "created"
    print(f"{metadata['name']}: {done} in namespace {metadata['namespace']}")
    return 0


async def _create(options: argparse.Namespace, manifest: dict[str, Any]) -> dict[str, Any]:
    wanted = manifest["metadata"].get("namespace")
    if options.namespace is not None and wanted not in (None, options.namespace):
        message = f"is {wanted!r} and not {options.namespace!r}; leave out -n, or correct the file"
        raise Invalid((Fault("metadata.namespace", message),))
    async with places.cluster(options, namespace=wanted) as namespace:
        return await namespace.create(manifest, dry_run=options.dry_run)
