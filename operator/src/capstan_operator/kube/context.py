"""The kubeconfig of the user, and the namespace of its context or of the pod."""

import os
from pathlib import Path
from typing import Any

from kubernetes.aio.config.kube_config import KubeConfigLoader, KubeConfigMerger

DEFAULT_NAMESPACE = "default"
_IN_POD = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


def of_user(kubeconfig: str | None) -> str | None:
    """Return the paths of the kubeconfig that kubectl reads, or None if there is no such file.

    The flag comes first, then $KUBECONFIG, then ~/.kube/config. Without any of them,
    `Credentials.load` uses the service account of the pod, as kubectl does. The operator calls only
    `Credentials.load`, which prefers the service account to ~/.kube/config.
    """
    in_home = Path.home() / ".kube" / "config"
    found = kubeconfig or os.environ.get("KUBECONFIG")
    return found or (str(in_home) if in_home.is_file() else None)


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
