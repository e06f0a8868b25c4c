"""The ways in which a pod can fail. Each way has a name, which tests choose or draw."""

from typing import Any

from testbed.story import PODS, Story

Json = dict[str, Any]

APPLICATION = ("error", "killed", "oom")
"""The fates that count towards `backoffLimit`."""
INFRASTRUCTURE = ("evicted", "deleted")
"""The fates that count towards `infrastructureBackoffLimit`."""


def fail_pod(story: Story, pod: Json, fate: str) -> None:
    """Let a pod fail that runs or is about to run. Raises ApiError if the API server refuses."""
    kubelet = story.kubelet
    match fate:
        case "error":
            kubelet.exit(pod, 1, message="ValueError: of the test")
        case "killed":
            kubelet.exit(pod, 137)
        case "oom":
            kubelet.oom(pod)
        case "evicted":
            kubelet.evict(pod)
        case "deleted":
            path = f"{PODS.format(story.namespace)}/{pod['metadata']['name']}"
            only_this_pod = {"preconditions": {"uid": pod["metadata"]["uid"]}}
            story.cluster.api.delete(path, only_this_pod)
        case _:
            known = ", ".join((*APPLICATION, *INFRASTRUCTURE))
            raise ValueError(f"unknown fate {fate!r}: the fates are {known}")
