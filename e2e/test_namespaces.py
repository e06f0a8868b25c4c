"""An operator that has no rights yet in one of the namespaces that it serves."""

from collections.abc import Callable, Iterator

import pytest

from testbed import wait
from testbed.control import Cluster
from testbed.kubelet import Kubelet
from testbed.operator import Operator
from testbed.story import Story, job

BINDINGS = "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings"
ACCOUNT = "capstan-operator"


@pytest.fixture
def other(cluster: Cluster) -> Iterator[str]:
    """A second namespace, beside the test's own."""
    name = cluster.namespace()
    yield name
    cluster.api.delete(f"/api/v1/namespaces/{name}")


def bind(cluster: Cluster, account_of: str, namespace: str) -> None:
    """Give the service account of one namespace every right in another."""
    cluster.api.post(
        BINDINGS.format(namespace),
        {
            "metadata": {"name": ACCOUNT},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": "cluster-admin",
            },
            "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": account_of}],
        },
    )


def test_a_namespace_without_rights_is_served_as_soon_as_the_rights_exist(
    start_operator: Callable[..., Operator],
    cluster: Cluster,
    kubelet: Kubelet,
    namespace: str,
    other: str,
) -> None:
    account = cluster.service_account(namespace, ACCOUNT)
    bind(cluster, namespace, namespace)
    operator = start_operator(f"--namespace={other}", kubeconfig=account)
    served = Story(cluster, kubelet, operator, namespace)
    forbidden = Story(cluster, kubelet, operator, other)
    forbidden.submit(job("later"))
    operator.wait_ready()
    served.started(job("now"))
    refused = f"/namespaces/{other}/trainingjobs: 403 Forbidden"
    wait.until(lambda: refused in operator.tail(), else_show=operator.tail)
    assert operator.healthy()
    bind(cluster, namespace, other)
    wait.until(lambda: forbidden.status("later").get("phase") == "Running", else_show=operator.tail)
    wait.until(
        lambda: "serves all its namespaces again" in operator.tail(), else_show=operator.tail
    )
