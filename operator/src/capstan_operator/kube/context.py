"""The namespace of the user: the namespace of the kubeconfig's context, or of the pod."""

import os
from pathlib import Path
from typing import Any

from kubernetes.aio.config.kube_config import KubeConfigLoader, KubeConfigMerger

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
    paths = paths or str(Path.home() / ".kube" / "config")
    # A kubeconfig needs no current context if the user names one.
    loader: Any = KubeConfigLoader(KubeConfigMerger(paths).config, active_context=context)
    return str(loader.current_context["context"].get("namespace") or DEFAULT_NAMESPACE)
