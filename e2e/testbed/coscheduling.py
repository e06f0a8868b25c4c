"""A second scheduler beside a control plane: Kubernetes' scheduler with the plugin coscheduling.

The plugin is that of the project scheduler-plugins. The controller of the project does not run: it
writes the status of PodGroups, which the plugin does not need.
"""

import contextlib
import json
from collections.abc import Iterator

from testbed import configs, tools
from testbed.control import Cluster
from testbed.process import Daemon

NAME = "scheduler-plugins-scheduler"
"""The name of the scheduler in pods."""

_MODULE = "sigs.k8s.io/scheduler-plugins"


@contextlib.contextmanager
def running(cluster: Cluster, patience_seconds: int = 5) -> Iterator[Daemon]:
    """Run the scheduler, and let the API server serve PodGroups.

    Pods that have a node wait `patience_seconds` for the rest of their group, and then give their
    nodes back. A gang without room is tried again when a pod or a PodGroup is added, and after
    `patience_seconds`. By default, that time is five minutes: the plugin does not notice the end of
    another pod. Raises programs.Unavailable and programs.BuildFailed.
    """
    program = tools.program("coscheduling")
    cluster.apply(tools.sources("coscheduling", _MODULE) / "manifests/coscheduling/crd.yaml")
    plugin = {"name": "Coscheduling"}
    profile = {
        "schedulerName": NAME,
        "plugins": {
            "multiPoint": {"enabled": [plugin]},
            "queueSort": {"enabled": [plugin], "disabled": [{"name": "*"}]},
        },
        "pluginConfig": [{**plugin, "args": {"permitWaitingTimeSeconds": patience_seconds}}],
    }
    config = cluster.folder / "coscheduling.json"
    config.write_text(
        json.dumps({**configs.scheduler(cluster.kubeconfig), "profiles": [profile]}, indent=1)
    )
    scheduler = Daemon(
        [
            *(program, f"--config={config}", "--secure-port=0"),
            f"--pod-max-in-unschedulable-pods-duration={patience_seconds}s",
        ],
        cluster.folder / "coscheduling.log",
        mark=cluster.folder,
    )
    try:
        yield scheduler
    finally:
        scheduler.kill()
