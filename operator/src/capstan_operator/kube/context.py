"""The namespace of the user: the namespace of the kubeconfig's context, or of the pod."""

import os
from pathlib import Path
from typing import Any

from kubernetes.aio import config

DEFAULT_NAMESPACE = "default"
_IN_POD = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


def namespace(kubeconfig: str | None, context: str | None) -> str:
    """Return the namespace of the configuration that `Credentials.load` reads.

    Call it after `Credentials.load` has accepted the configuration. Return `default` if the
    configuration names none.
    """
    paths = kubeconfig or os.environ.get("KUBECONFIG")
    if not paths and os.environ.get("KUBERNETES_SERVICE_HOST"):
        return (
            _IN_POD.read_text(encoding="utf-8").strip() if _IN_POD.is_file() else DEFAULT_NAMESPACE
        )
    contexts: list[dict[str, Any]]
    contexts, active = config.list_kube_config_contexts(paths or None)
    if context is not None:
        active = next((known for known in contexts if known["name"] == context), active)
    return str(active["context"].get("namespace") or DEFAULT_NAMESPACE)
