"""The wishes of spec.scheduling, on a real API server and scheduler."""

import pytest

from testbed.story import Story, job, replica

pytestmark = pytest.mark.e2e


def test_parameter_servers_run_on_different_nodes(story: Story) -> None:
    story.started(job(ps=replica(len(story.kubelet.nodes)), worker=replica(1)))
    servers = [pod for name, pod in story.pods().items() if "-ps-" in name]
    nodes = sorted(pod["spec"]["nodeName"] for pod in servers)
    assert nodes == sorted(story.kubelet.nodes)
    for server in servers:
        others = server["spec"]["affinity"]["podAntiAffinity"]
        (preference,) = others["preferredDuringSchedulingIgnoredDuringExecution"]
        wanted = preference["podAffinityTerm"]["labelSelector"]["matchLabels"]
        assert wanted.items() <= server["metadata"]["labels"].items()
