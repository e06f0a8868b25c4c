"""Views of tasks from pods that lack any of their optional fields."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given
from kube import documents
from kube.documents import condition, pod, running, terminated, waiting

from capstan_operator.kube import cache, pods
from capstan_operator.reconcile.observe import TaskPhase

BEFORE, LATER = "2026-11-02T10:07:00Z", "2026-11-02T10:08:00Z"
GRACE = {"deletionGracePeriodSeconds": 30}


WHOLE_PODS = [
    pod(
        containers=("proxy", "trainer"),
        inits=({"name": "agent", "image": "i", "restartPolicy": "Always"},),
        metadata=GRACE | {"deletionTimestamp": LATER},
        phase=phase,
        reason="Evicted",
        message="The node was low on resource: memory.",
        conditions=[
            *documents.ready("False", "ContainersNotReady"),
            condition("DisruptionTarget", "True", "DeletionByPodGC", "PodGC: node is gone", LATER),
        ],
        initContainerStatuses=[running("agent")],
        containerStatuses=[waiting("ErrImagePull", "no", name="proxy"), trainer],
    )
    for phase in ("Pending", "Running", "Unknown", "Succeeded", "Failed")
    for trainer in (running(), waiting("ImagePullBackOff"), terminated(0), terminated(143))
]
REQUIRED = {"name", "namespace", "uid", "resourceVersion", "type", "labels"}
"""Fields that Kubernetes never leaves out of an object. The labels name the task."""

Path = tuple[Any, ...]
"""Keys and indices that lead to a field."""


def optional_fields(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yield every field below `value` that Kubernetes may leave out."""
    keys = (
        range(len(value)) if isinstance(value, list) else value if isinstance(value, dict) else ()
    )
    for key in keys:
        if key == "labels":
            continue
        if isinstance(value, dict) and key not in REQUIRED and (*path, key) != ("metadata",):
            yield (*path, key)
        yield from optional_fields(value[key], (*path, key))


def without(full_pod: dict[str, Any], fields: Mapping[Path, str]) -> dict[str, Any]:
    """Return a copy of a pod in which these fields are "absent" or "null"."""
    pod = json.loads(json.dumps(full_pod))  # much faster than copy.deepcopy
    # Remove the longest paths first, so that a field is removed before its object.
    for path in sorted(fields, key=len, reverse=True):
        *parents, last = path
        holder: Any = pod
        for key in parents:
            holder = holder[key]
        if fields[path] == "absent":
            del holder[last]
        else:
            holder[last] = None
    return pod


@st.composite
def partial_pods(draw: st.DrawFn) -> dict[str, Any]:
    """Return a pod that lacks some of its optional fields."""
    full_pod = draw(st.sampled_from(WHOLE_PODS))
    missing = st.sampled_from([*optional_fields(full_pod)])
    how = st.sampled_from(["absent", "null"])
    return without(full_pod, draw(st.dictionaries(missing, how, max_size=8)))


def assert_viewed(document: dict[str, Any]) -> None:
    """Assert that the view of a pod has the name and uid of the pod, also if its node is lost."""
    thinned = cache.thin(document)
    for node_lost in (False, True):
        found = pods.view(thinned, trainer="trainer", node_lost=node_lost)
        assert (found.pod, found.uid) == (document["metadata"]["name"], document["metadata"]["uid"])
        assert found.phase in TaskPhase
    assert pods.doubtful(thinned, trainer="trainer") in (True, False)


@pytest.mark.e2e
@pytest.mark.parametrize("how", ["absent", "null"])
def test_every_optional_field_may_be_missing(how: str) -> None:
    for full_pod in WHOLE_PODS:
        for path in optional_fields(full_pod):
            assert_viewed(without(full_pod, {path: how}))


@pytest.mark.e2e
@given(partial_pods())
def test_any_combination_of_optional_fields_may_be_missing(document: dict[str, Any]) -> None:
    assert_viewed(document)
