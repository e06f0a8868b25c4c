"""`capstanctl version`: the versions of this command, of a cluster and of the operator in it."""

import argparse
import asyncio
import importlib.metadata
from typing import Any

from capstan_operator.cli import documents, places
from capstan_operator.errors import OperatorError

PACKAGE = "capstan_operator"


def version(options: argparse.Namespace) -> int:
    """Print the versions and return the exit status."""
    found: dict[str, Any] = {"client": importlib.metadata.version(PACKAGE)}
    if not options.client:
        found["cluster"] = asyncio.run(_cluster(options))
    if options.output is not None:
        documents.show([found], options.output)
        return 0
    print(f"capstanctl {found['client']}")
    for name, value in found.get("cluster", {}).items():
        shown = ", ".join(value) if isinstance(value, list) else value
        print(f"{name} {shown or 'none'}")
    return 0


async def _cluster(options: argparse.Namespace) -> dict[str, Any]:
    """Return the versions of the cluster, or why there are none."""
    try:
        async with places.cluster(options) as namespace:
            return await namespace.versions()
    except OperatorError as error:
        return {"cluster": f"does not answer: {' '.join(str(error).split())}"}
