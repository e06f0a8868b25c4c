"""The cache with events that arrive late, twice, out of order, or never."""

import copy
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import stateful
from kube import documents

from capstan_operator.kube import table
from capstan_operator.kube.cache import Cache, thin
from capstan_operator.kube.table import Key

DIGITS = Key("team-a", "digits")
Document = dict[str, Any]


def pod(version: int, uid: str = "a", name: str = "digits-worker-1", **more: Any) -> Document:
    return documents.pod(version=version, uid=uid, name=name, **more)


def job(version: int, uid: str = "j", name: str = "digits", namespace: str = "team-a") -> Document:
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": uid,
            "resourceVersion": str(version),
            "managedFields": [],
        },
        "spec": {"replicaSpecs": {}},
    }


def versions(cache: Cache, key: Key = DIGITS) -> dict[str, str]:
    """Return the resource versions of a job's pods by UID."""
    return {pod["metadata"]["uid"]: pod["metadata"]["resourceVersion"] for pod in cache.pods(key)}


def test_versions_are_compared_as_integers() -> None:
    cache = Cache()
    cache.pod_event("ADDED", pod(9))
    assert cache.pod_event("MODIFIED", pod(10)) == {DIGITS}
    assert cache.pod_event("MODIFIED", pod(9)) == set()
    assert versions(cache) == {"a": "10"}


def test_the_answer_to_a_post_may_come_before_or_after_the_watch() -> None:
    cache = Cache()
    assert cache.pod_event("ADDED", pod(5)) == {DIGITS}
    assert cache.pod_event("ADDED", pod(5)) == set()
    cache.pod_event("MODIFIED", pod(6))
    assert cache.pod_event("ADDED", pod(5)) == set()
    assert versions(cache) == {"a": "6"}


def test_the_first_request_for_a_deletion_is_kept() -> None:
    cache = Cache()
    asked = {"deletionTimestamp": "2026-11-02T10:07:30Z", "deletionGracePeriodSeconds": 30}
    again = {"deletionTimestamp": "2026-11-02T10:07:09Z", "deletionGracePeriodSeconds": 0}
    cache.pod_event("ADDED", pod(5))
    cache.pod_event("MODIFIED", pod(6, metadata=asked))
    cache.pod_event("MODIFIED", pod(7, metadata=again))
    assert [pod["metadata"]["deletionGracePeriodSeconds"] for pod in cache.pods(DIGITS)] == [9]
    cache.replace_pods([pod(8, metadata=again)], "9", None)
    assert [pod["metadata"]["deletionGracePeriodSeconds"] for pod in cache.pods(DIGITS)] == [9]
    cache.job_event("ADDED", job(4))
    cache.pod_event("DELETED", pod(10, metadata=again))
    assert [pod["metadata"]["deletionGracePeriodSeconds"] for pod in cache.remains(DIGITS)] == [9]


def test_the_deletion_of_a_pod_does_not_affect_the_next_pod_of_its_name() -> None:
    cache = Cache()
    asked = {"deletionTimestamp": "2026-11-02T10:07:30Z", "deletionGracePeriodSeconds": 30}
    again = {"deletionTimestamp": "2026-11-02T10:07:09Z", "deletionGracePeriodSeconds": 0}
    cache.pod_event("MODIFIED", pod(6, metadata=asked))
    cache.pod_event("MODIFIED", pod(9, uid="b", metadata=again))
    assert [pod["metadata"]["deletionGracePeriodSeconds"] for pod in cache.pods(DIGITS)] == [0]


def test_a_late_event_does_not_revive_a_deleted_pod() -> None:
    cache = Cache()
    cache.pod_event("ADDED", pod(5))
    assert cache.pod_event("DELETED", pod(8)) == {DIGITS}
    assert cache.pod_event("MODIFIED", pod(7)) == set()
    assert cache.pods(DIGITS) == []


def test_a_deletion_that_arrives_before_its_pod_is_remembered() -> None:
    cache = Cache()
    assert cache.pod_event("DELETED", pod(8)) == set()
    assert cache.pod_event("ADDED", pod(5)) == set()
    assert cache.pods(DIGITS) == []


def test_a_late_deletion_does_not_remove_the_next_pod_of_the_name() -> None:
    cache = Cache()
    cache.pod_event("ADDED", pod(5, "a"))
    cache.pod_event("ADDED", pod(9, "b"))
    assert cache.pod_event("DELETED", pod(8, "a")) == set()
    assert versions(cache) == {"b": "9"}


def test_an_earlier_pod_of_a_name_does_not_come_back_after_the_next_one() -> None:
    cache = Cache()
    cache.pod_event("ADDED", pod(5, "a"))
    cache.pod_event("ADDED", pod(9, "b"))
    cache.pod_event("DELETED", pod(12, "b"))
    assert cache.pod_event("MODIFIED", pod(7, "a")) == set()


def test_a_list_drops_pods_whose_deletion_was_missed_and_wakes_their_job() -> None:
    cache = Cache()
    cache.pod_event("ADDED", pod(5, "a", "digits-worker-0"))
    cache.pod_event("ADDED", pod(6, "b", "digits-worker-1"))
    assert cache.replace_pods([pod(6, "b", "digits-worker-1")], "20", None) == {DIGITS}
    assert versions(cache) == {"b": "6"}
    assert cache.replace_pods([pod(6, "b", "digits-worker-1")], "21", None) == set()


def test_a_list_leaves_objects_that_are_newer_than_the_list() -> None:
    cache = Cache()
    cache.pod_event("ADDED", pod(25))
    assert cache.replace_pods([], "20", None) == set()
    assert versions(cache) == {"a": "25"}


def test_a_late_event_does_not_revive_an_object_that_a_list_lacked() -> None:
    cache = Cache()
    cache.replace_pods([], "20", None)
    assert cache.pod_event("MODIFIED", pod(19)) == set()
    assert cache.pod_event("ADDED", pod(21, "b")) == {DIGITS}


def test_an_object_in_a_list_exists_even_if_it_was_reported_as_deleted() -> None:
    """An API server that does not know the kind yet answers that no job exists."""
    cache = Cache()
    cache.replace_jobs([job(5)], "20", None)
    cache.job_event("DELETED", job(5))
    assert cache.job(DIGITS) is None
    assert cache.replace_jobs([job(5)], "30", None) == {DIGITS}
    assert cache.job(DIGITS) is not None


def test_a_list_from_before_a_deletion_does_not_revive_the_pod() -> None:
    cache = Cache()
    cache.replace_jobs([job(5)], "20", None)
    cache.job_event("DELETED", job(40))
    assert cache.replace_jobs([job(5)], "30", None) == set()
    assert cache.job(DIGITS) is None


def test_a_list_of_one_namespace_leaves_the_others() -> None:
    cache = Cache()
    cache.pod_event("ADDED", pod(5, "a"))
    cache.pod_event("ADDED", pod(6, "b", namespace="team-b"))
    assert cache.replace_pods([], "20", "team-b") == {Key("team-b", "digits")}
    assert versions(cache) == {"a": "5"}
    assert cache.pod_event("ADDED", pod(8, "c", "digits-ps-0")) == {DIGITS}


def test_a_forgotten_pod_never_comes_back() -> None:
    cache = Cache()
    cache.pod_event("ADDED", pod(5))
    cache.forget(DIGITS, "a")
    cache.forget(DIGITS, "a")
    assert cache.pods(DIGITS) == []
    assert cache.pod_event("MODIFIED", pod(6)) == set()
    assert cache.replace_pods([pod(6)], "7", None) == set()
    assert cache.pod_event("ADDED", pod(8, "b")) == {DIGITS}


def test_a_pod_whose_label_is_removed_and_restored_is_cached_again() -> None:
    cache = Cache()
    cache.pod_event("ADDED", pod(5))
    # A watch with a label selector says DELETED when an object no longer matches.
    cache.pod_event("DELETED", pod(8))
    assert cache.pod_event("ADDED", pod(9)) == {DIGITS}
    assert cache.pod_event("DELETED", pod(8)) == set()
    assert versions(cache) == {"a": "9"}


def test_the_newest_deletion_is_kept() -> None:
    cache = Cache()
    cache.pod_event("DELETED", pod(8))
    cache.pod_event("DELETED", pod(6))
    assert cache.pod_event("MODIFIED", pod(7)) == set()


def test_a_late_list_does_not_undo_newer_events() -> None:
    cache = Cache()
    cache.replace_pods([], "20", None)
    cache.replace_pods([pod(5)], "10", None)
    assert cache.pods(DIGITS) == []
    assert cache.pod_event("MODIFIED", pod(15)) == set()


def test_a_pod_whose_label_changes_moves_to_the_other_job() -> None:
    cache = Cache()
    cache.pod_event("ADDED", pod(5))
    moved = pod(6, metadata={"labels": {"capstan.dev/job-name": "other"}})
    assert cache.pod_event("MODIFIED", moved) == {DIGITS, Key("team-a", "other")}
    assert cache.pods(DIGITS) == []
    assert versions(cache, Key("team-a", "other")) == {"a": "6"}


def test_a_pod_of_no_job_wakes_no_job() -> None:
    cache = Cache()
    assert cache.pod_event("ADDED", pod(5, metadata={"labels": None})) == set()
    assert cache.pod_event("DELETED", pod(6, metadata={"labels": None})) == set()


@pytest.mark.e2e
def test_tombstones_are_bounded() -> None:
    full_cache = Cache()
    for number in range(table.MAX_TOMBSTONES + 1):
        full_cache.pod_event("DELETED", pod(10 + number, uid=f"uid-{number}"))
    assert full_cache.pod_event("ADDED", pod(1, "uid-1")) == set()
    assert full_cache.pod_event("ADDED", pod(1, "uid-0")) == {DIGITS}


def test_only_the_needed_fields_of_pods_are_kept() -> None:
    pods, full_pod = Cache(), pod(5, phase="Running")
    before = copy.deepcopy(full_pod)
    pods.pod_event("ADDED", full_pod)
    (kept,) = pods.pods(DIGITS)
    assert full_pod == before
    assert thin(kept) == kept
    assert kept["metadata"].keys().isdisjoint({"managedFields", "annotations"})
    assert kept["spec"] == {
        "nodeName": "n7",
        "restartPolicy": "Never",
        "hostname": "worker-1",
        "subdomain": "digits",
        "initContainers": [],
    }


def test_jobs_follow_the_same_rules() -> None:
    cache = Cache()
    assert cache.job_event(None, job(5)) == DIGITS
    cache.job_event("MODIFIED", job(4))
    found = cache.job(DIGITS)
    assert found is not None
    assert found["metadata"]["resourceVersion"] == "5"
    assert "managedFields" not in found["metadata"]
    assert cache.job_event("DELETED", job(7)) == DIGITS
    cache.job_event("MODIFIED", job(6))
    assert cache.job(DIGITS) is None
    assert cache.replace_jobs([job(9, "k")], "10", None) == {DIGITS}
    assert cache.replace_jobs([job(9, "k")], "11", None) == set()
    assert cache.jobs() == [DIGITS]


class Deliveries(stateful.RuleBasedStateMachine):
    """A server with one etcd, and all ways in which its changes reach the cache."""

    names = st.sampled_from(["digits-worker-0", "digits-worker-1"])
    namespaces = st.sampled_from(["team-a", "team-b"])

    def __init__(self) -> None:
        super().__init__()
        self.cache = Cache()
        self.revision = 100
        self.uids = 0
        self.pods: dict[Key, Document] = {}
        self.history: list[tuple[str, Document]] = []
        self.lists: list[tuple[int, str | None, list[Document]]] = []

    @stateful.rule(namespace=namespaces, name=names)
    def change(self, namespace: str, name: str) -> None:
        """Create, change or delete a pod, as a client of the server would."""
        key = Key(namespace, name)
        self.revision += 1
        found = self.pods.get(key)
        if found is None:
            self.uids += 1
            uid = f"uid-{self.uids}"
        else:
            uid = found["metadata"]["uid"]
        self.pods[key] = pod(self.revision, uid, name, namespace=namespace)
        self.history.append(("ADDED" if found is None else "MODIFIED", self.pods[key]))

    @stateful.rule(namespace=namespaces, name=names)
    def delete(self, namespace: str, name: str) -> None:
        found = self.pods.pop(Key(namespace, name), None)
        if found is not None:
            self.revision += 1
            last = pod(self.revision, found["metadata"]["uid"], name, namespace=namespace)
            self.history.append(("DELETED", last))

    @stateful.precondition(lambda self: self.history)
    @stateful.rule(data=st.data())
    def deliver(self, data: st.DataObject) -> None:
        """Deliver any past event as kopf does: of the type None if it comes from a relist."""
        kind, document = data.draw(st.sampled_from(self.history))
        if kind != "DELETED":
            kind = data.draw(st.sampled_from([kind, None]))
        self.cache.pod_event(kind, document)
        self.agree_if_listed()

    @stateful.rule(namespace=st.none() | namespaces)
    def list(self, namespace: str | None) -> None:
        """Request a LIST. Another step may deliver its answer later, more than once."""
        items = [pod for key, pod in self.pods.items() if namespace in (None, key.namespace)]
        self.lists.append((self.revision, namespace, items))

    @stateful.precondition(lambda self: self.lists)
    @stateful.rule(data=st.data())
    def answer(self, data: st.DataObject) -> None:
        revision, namespace, items = data.draw(st.sampled_from(self.lists))
        self.cache.replace_pods(items, str(revision), namespace)
        if (revision, namespace) == (self.revision, None):
            self.agree()
        self.agree_if_listed()

    @stateful.rule()
    def resync(self) -> None:
        """Deliver a current LIST at once. Later events from before it change nothing."""
        self.cache.replace_pods(list(self.pods.values()), str(self.revision), None)
        self.listed_at = self.revision
        self.agree()

    listed_at = -1

    def agree_if_listed(self) -> None:
        if self.listed_at == self.revision:
            self.agree()

    def agree(self) -> None:
        for namespace in ("team-a", "team-b"):
            key = Key(namespace, "digits")
            expected = {
                pod["metadata"]["uid"]: pod["metadata"]["resourceVersion"]
                for at, pod in self.pods.items()
                if at.namespace == namespace
            }
            assert versions(self.cache, key) == expected


TestDeliveries = Deliveries.TestCase


def test_the_last_version_of_a_deleted_pod_is_kept_until_its_name_is_taken() -> None:
    cache = Cache()
    cache.job_event("ADDED", job(1))
    cache.pod_event("ADDED", pod(5, "a"))
    cache.pod_event("DELETED", pod(8, "a", phase="Failed"))
    assert [pod["status"]["phase"] for pod in cache.remains(DIGITS)] == ["Failed"]
    cache.pod_event("ADDED", pod(9, "b"))
    assert cache.remains(DIGITS) == []


def test_the_last_version_of_a_pod_is_kept_however_its_deletion_was_found() -> None:
    cache = Cache()
    cache.job_event("ADDED", job(1))
    cache.pod_event("ADDED", pod(5, "a"))
    cache.pod_event("ADDED", pod(6, "b", "digits-worker-0"))
    cache.forget(DIGITS, "a")
    cache.replace_pods([], "9", None)
    assert {pod["metadata"]["uid"] for pod in cache.remains(DIGITS)} == {"a", "b"}


@pytest.mark.parametrize("told_by", ["watch", "list"])
def test_the_cache_keeps_no_data_of_a_deleted_job(told_by: str) -> None:
    cache = Cache()
    cache.job_event("ADDED", job(10))
    cache.pod_event("ADDED", pod(11, "a"))
    cache.pod_event("DELETED", pod(12, "a"))
    assert cache.remains(DIGITS)
    if told_by == "watch":
        cache.job_event("DELETED", job(13))
    else:
        cache.replace_jobs([], "13", None)
    cache.pod_event("ADDED", pod(14, "b"))
    cache.pod_event("DELETED", pod(15, "b"))
    assert cache.remains(DIGITS) == []
