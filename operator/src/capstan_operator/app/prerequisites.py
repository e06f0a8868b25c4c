"""Waits until the operator may lead: until the API server has the CRD of this release."""

import asyncio
import logging

from capstan_operator.api import served
from capstan_operator.app.health import Health
from capstan_operator.kube import paths
from capstan_operator.kube.errors import ApiError, NotFound
from capstan_operator.kube.rest import Rest

POLL_SECONDS = 2.0
"""The pause between checks for the CRD. kopf starts only when the CRD exists, because kopf does not
notice a CRD that is created later."""

PUBLISHED_AFTER = 5
"""The number of checks after which the operator leads although the schema is not published."""

_MOST_SHOWN = 3
_REMEDY = "kubectl apply -f crds/trainingjobs.capstan.dev.yaml"

log = logging.getLogger(__name__)


async def wait_for_crd(rest: Rest, health: Health) -> None:
    """Wait until the API server answers and has a CRD with every field of the status.

    A CRD that lacks fields of the spec is only reported: jobs cannot use these fields.
    """
    logged, unpublished = "", 0
    while True:
        try:
            await rest.get(paths.GROUP_VERSION)
            lacking = await _lacking(rest)
            if lacking is None:
                unpublished += 1
                if unpublished >= PUBLISHED_AFTER:
                    log.info("cannot check the fields of the CRD: its schema is not published")
                    return
                health.waiting_for = (
                    "the schema of the CRD, which the API server has not published yet"
                )
            elif not any(path.startswith("status.") for path in lacking):
                if lacking:
                    log.warning("jobs cannot use %s: the CRD is old; %s", _shown(lacking), _REMEDY)
                return
            else:
                shown = _shown(lacking)
                health.waiting_for = f"a newer CRD: the served one lacks {shown}; {_REMEDY}"
        except NotFound:
            health.waiting_for = f"the CRD; {_REMEDY}"
        except ApiError as error:
            health.waiting_for = f"the API server: {error}"
        if health.waiting_for != logged:
            logged = health.waiting_for
            log.info("waiting for %s", logged)
        await asyncio.sleep(POLL_SECONDS)


async def _lacking(rest: Rest) -> tuple[str, ...] | None:
    """Return the fields that the served CRD lacks, or None if its schema is not published yet.

    If the operator may not read it, assume that the CRD has all fields.
    """
    try:
        return served.lacking(await rest.get(paths.SCHEMAS))
    except NotFound:
        return None
    except ApiError as error:
        log.info("cannot check the fields of the CRD: %s", error)
        return ()


def _shown(lacking: tuple[str, ...]) -> str:
    """Name the first fields, those of the status before those of the spec."""
    ordered = sorted(lacking, key=lambda path: not path.startswith("status."))
    more = len(ordered) - _MOST_SHOWN
    return ", ".join(ordered[:_MOST_SHOWN]) + (f" and {more} more" if more > 0 else "")
