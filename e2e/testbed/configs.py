"""The configuration files of a control plane's programs and of its clients. JSON is YAML."""

import base64
import pathlib
import secrets
from typing import Any

Json = dict[str, Any]

AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "None", "userGroups": ["system:serviceaccounts:kube-system"]},
        {
            "level": "Metadata",
            "userGroups": ["system:serviceaccounts"],
            "verbs": ["create", "update", "patch", "delete", "deletecollection"],
        },
        {"level": "None"},
    ],
}
"""Log every writing request of a service account, except for those of Kubernetes itself."""


def scheduler(kubeconfig: pathlib.Path) -> Json:
    """Return the configuration of the only scheduler. It does not limit its requests."""
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"kubeconfig": str(kubeconfig), "qps": 5000, "burst": 10000},
    }


def kubeconfig(server: str, ca: pathlib.Path, user: str, token: str, namespace: str) -> Json:
    """Return the kubeconfig of a client of an API server."""
    cluster = {"server": server, "certificate-authority": str(ca)}
    context = {"cluster": "testbed", "user": user, "namespace": namespace}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "testbed", "cluster": cluster}],
        "users": [{"name": user, "user": {"token": token}}],
        "contexts": [{"name": "testbed", "context": context}],
        "current-context": "testbed",
    }


def signing_key() -> str:
    """Make a key that signs the tokens of service accounts.

    The key is a SEC 1 structure: version 1, 32 random bytes, and the name of the curve P-256. The
    first bit is zero, so the number is below the curve's order.
    """
    number = secrets.token_bytes(32)
    scalar = bytes([number[0] & 0x7F]) + number[1:]
    curve = bytes.fromhex("a00a06082a8648ce3d030107")
    key = base64.b64encode(bytes.fromhex("30310201010420") + scalar + curve).decode()
    lines = [key[at : at + 64] for at in range(0, len(key), 64)]
    return "\n".join(["-----BEGIN EC PRIVATE KEY-----", *lines, "-----END EC PRIVATE KEY-----", ""])
