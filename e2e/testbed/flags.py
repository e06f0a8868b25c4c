"""The flags of the programs of a control plane. All functions are pure."""

import pathlib
from collections.abc import Sequence

LOOPBACK = "127.0.0.1"
ISSUER = "https://kubernetes.default.svc.cluster.local"


def etcd(data: pathlib.Path, client_port: int, peer_port: int) -> Sequence[str]:
    """Return the flags of an etcd of one member, which need not survive a crash of the machine."""
    clients = f"http://{LOOPBACK}:{client_port}"
    peers = f"http://{LOOPBACK}:{peer_port}"
    return (
        f"--data-dir={data}",
        *(f"--listen-client-urls={clients}", f"--advertise-client-urls={clients}"),
        *(f"--listen-peer-urls={peers}", f"--initial-advertise-peer-urls={peers}"),
        f"--initial-cluster=default={peers}",
        *("--unsafe-no-fsync", "--log-level=warn"),
    )


def api_server(
    address: str,
    port: int,
    etcd_port: int,
    certificates: pathlib.Path,
    signing_key: pathlib.Path,
    *,
    tokens: pathlib.Path,
    policy: pathlib.Path,
    audit: pathlib.Path,
    pod_groups: bool,
) -> Sequence[str]:
    """Return the flags of an API server.

    It writes its certificate into the folder `certificates`. `tokens` is a file of users. `policy`
    says which requests it writes to the log `audit`. With `pod_groups`, it serves PodGroups.
    """
    return (
        f"--etcd-servers=http://{LOOPBACK}:{etcd_port}",
        *(f"--bind-address={address}", f"--secure-port={port}"),
        f"--advertise-address={address}",
        # Kubernetes does not allow the endpoint of a Service on loopback.
        f"--endpoint-reconciler-type={'none' if address == LOOPBACK else 'lease'}",
        # No name server knows the names of nodes.
        "--kubelet-preferred-address-types=InternalIP",
        f"--cert-dir={certificates}",
        f"--token-auth-file={tokens}",
        *("--authorization-mode=Node,RBAC", "--allow-privileged"),
        "--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
        f"--service-account-issuer={ISSUER}",
        f"--service-account-key-file={signing_key}",
        f"--service-account-signing-key-file={signing_key}",
        "--service-cluster-ip-range=10.96.0.0/16",
        f"--audit-policy-file={policy}",
        f"--audit-log-path={audit}",
        *(("--feature-gates=GenericWorkload=true",) if pod_groups else ()),
        *(("--runtime-config=scheduling.k8s.io/v1alpha2=true",) if pod_groups else ()),
    )


def controller_manager(
    kubeconfig: pathlib.Path, signing_key: pathlib.Path, ca: pathlib.Path, node_grace: str
) -> Sequence[str]:
    """Return the flags of the only controller manager. A node is lost after `node_grace`."""
    return (
        f"--kubeconfig={kubeconfig}",
        f"--service-account-private-key-file={signing_key}",
        f"--root-ca-file={ca}",
        f"--node-monitor-grace-period={node_grace}",
        *("--use-service-account-credentials", "--leader-elect=false", "--secure-port=0"),
        *("--kube-api-qps=1000", "--kube-api-burst=2000"),
    )


def scheduler(config: pathlib.Path, *, pod_groups: bool) -> Sequence[str]:
    """Return the flags of the only scheduler. With `pod_groups`, it schedules pods in groups."""
    gates = ("--feature-gates=GenericWorkload=true,GangScheduling=true",)
    return (f"--config={config}", "--secure-port=0", *(gates if pod_groups else ()))
