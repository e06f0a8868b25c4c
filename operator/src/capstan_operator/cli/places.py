"""Choose the place of a job: the folder `.capstan`, or a namespace of a cluster."""

import argparse
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from capstan_operator.cli.run import STATE
from capstan_operator.errors import Fault, Invalid
from capstan_operator.local.kept import Kept
from capstan_operator.report.place import Place

if TYPE_CHECKING:
    from capstan_operator.remote.namespace import Namespace

_MOST_NAMES = 8
"""The most jobs that a message names, so that it stays short."""


@contextlib.asynccontextmanager
async def opened(options: argparse.Namespace) -> AsyncIterator[Place]:
    """Open the place that holds the job of a command line, or all jobs if it names none.

    The flags of a cluster come first, then a job in `.capstan`, then the cluster of the kubeconfig.
    Raises errors.Invalid if there is neither such a job nor a cluster.
    """
    kept = Kept(STATE)
    flags = (options.namespace, options.context, options.kubeconfig)
    is_here = bool(kept.names()) if options.job is None else kept.has(options.job)
    if is_here and flags == (None, None, None):
        yield kept
        return
    async with cluster(options, looked_in_folder=flags == (None, None, None)) as place:
        yield place


@contextlib.asynccontextmanager
async def cluster(
    options: argparse.Namespace, *, namespace: str | None = None, looked_in_folder: bool = False
) -> AsyncIterator["Namespace"]:
    """Open a namespace of a cluster: the flag's, else `namespace`, else the context's.

    Raises errors.Invalid if there is no usable kubeconfig.
    """
    # The Kubernetes client takes a second to load, and a laptop need not have a cluster.
    from capstan_operator.remote.namespace import connect

    try:
        name = options.namespace or namespace
        place = await connect(options.kubeconfig, options.context, name)
    except Invalid as invalid:
        if not looked_in_folder:
            raise
        job = "no job" if getattr(options, "job", None) is None else f"no job {options.job!r}"
        fault = "; ".join(map(str, invalid.faults))
        message = f"{job} in {STATE} of this directory{_which_has()}, and no cluster: {fault}"
        raise Invalid((Fault("", message),)) from None
    async with contextlib.aclosing(place):
        yield place


def _which_has() -> str:
    """Return words that name the first jobs of this directory, because names are misspelt."""
    names = Kept(STATE).names()
    more = "" if len(names) <= _MOST_NAMES else f" and {len(names) - _MOST_NAMES} more"
    return f", which has {', '.join(names[:_MOST_NAMES])}{more}" if names else ""
