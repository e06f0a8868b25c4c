"""Decide whether a finished job needs no pass, from its manifest alone.

    the phase                                    is final
    the spec                                     is the one that the status is based on
    every task                                   has ended
    the job                                      is never deleted by the operator (no ttl)
    pods of the job                              do not exist

A cluster keeps thousands of finished jobs, and an operator that starts sees all of them. To read a
manifest as values and to plan takes longer than everything else, so this looks at single fields.
"""

from collections.abc import Mapping
from typing import Any

from capstan_operator.api.status import Phase, TaskState

_FINAL = frozenset(phase.value for phase in Phase if phase.is_final)
_ENDED = frozenset({TaskState.SUCCEEDED, TaskState.FAILED, TaskState.STOPPED})


def needs_no_pass(manifest: Mapping[str, Any], *, has_pods: bool) -> bool:
    """Return True if a pass over the job would change nothing, now and at any later time.

    `has_pods` says whether pods carry the name of the job. A manifest that the API server would not
    have accepted needs a pass.
    """
    status, spec = manifest.get("status"), manifest.get("spec")
    if has_pods or not isinstance(status, Mapping) or not isinstance(spec, Mapping):
        return False
    if status.get("phase") not in _FINAL:
        return False
    if status.get("observedGeneration") != manifest["metadata"].get("generation"):
        return False
    if (spec.get("runPolicy") or {}).get("ttlSecondsAfterFinished") is not None:
        return False
    rows = status.get("tasks")
    return isinstance(rows, list) and all(row.get("state") in _ENDED for row in rows)
