"""Which TrainingJobs this operator runs."""

from collections.abc import Mapping
from typing import Any

from capstan_operator.api import names


def manager(manifest: Mapping[str, Any]) -> str:
    """Return the name of the controller that runs a job.

    The job may be invalid: only the type of `spec.managedBy` is trusted, which the API server
    checks.
    """
    spec = manifest.get("spec")
    named = spec.get("managedBy") if isinstance(spec, Mapping) else None
    return named if isinstance(named, str) else names.MANAGER


def is_ours(manifest: Mapping[str, Any]) -> bool:
    """Return whether the operator runs a job and writes its status."""
    return manager(manifest) == names.MANAGER
