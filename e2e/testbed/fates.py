"""The ways in which a pod fails, each by a word that tests choose by plan or by chance."""

from typing import Any

from testbed.story import PODS, Story

Json = dict[str, Any]

APPLICATION = ("error", "killed", "oom")
"""These are charged to `backoffLimit`."""
INFRASTRUCTURE = ("evicted", "deleted")
"""These are charged to `infrastructureBackoffLimit`."""


def suffer(story: Story, pod: Json, fate: str) -> None:
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
            of_this = {"preconditions": {"uid": pod["metadata"]["uid"]}}
            story.cluster.api.delete(path, of_this)
        case _:
            raise ValueError(f"no pod ends like this: {fate!r}")
