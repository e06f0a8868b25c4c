"""Jobs and the pods of jobs, at least as new as the last LIST. `table` has the rules."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from capstan_operator.api import names
from capstan_operator.kube import pod_fields, shortage, table
from capstan_operator.kube.table import Change, Key, Manifest
from capstan_operator.manifests import queue

_POD_METADATA = (
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "ownerReferences",
)
_POD_SPEC = ("nodeName", "restartPolicy", "hostname", "subdomain", "activeDeadlineSeconds")


class Cache:
    """Jobs, and the needed fields of the pods that carry a job's label. Not thread-safe.

    The manifests that it returns are shared: do not change them.
    """

    def __init__(self) -> None:
        self._jobs = table.Table()
        self._pods = table.Table()
        self._by_job: dict[Key, dict[str, Manifest]] = {}
        self._remains: dict[Key, dict[str, Manifest]] = {}
        self._writing: dict[Key, Manifest] = {}

    def jobs(self) -> list[Key]:
        """Return the keys of all jobs."""
        return list(self._jobs.rows)

    def job(self, key: Key) -> Manifest | None:
        return self._jobs.rows.get(key)

    def pods(self, key: Key) -> list[Manifest]:
        """Return all pods that carry a job's name as label, whether or not the job owns them."""
        return list(self._by_job.get(key, {}).values())

    def remains(self, key: Key) -> list[Manifest]:
        """Return the last versions of a job's deleted pods whose names are free.

        A watch often reports the end of a pod and its deletion in one event.
        """
        return list(self._remains.get(key, {}).values())

    def job_event(self, kind: str | None, job: Manifest) -> Key:
        """Put a job into the cache or remove it, as a watch event or a response reports.

        The `kind` DELETED removes the job. Every other kind puts this version of the job into the
        cache, unless the version is outdated.
        """
        key = table.key_of(job)
        self._jobs.tell(kind, unmanaged(job))
        if self.job(key) is None:
            self._remains.pop(key, None)
        return key

    @contextlib.contextmanager
    def writing(self, key: Key, status: Manifest) -> Iterator[None]:
        """Mark that this status of a job is being written. A watch may report it first."""
        self._writing[key] = status
        try:
            yield
        finally:
            del self._writing[key]

    def is_own_write(self, key: Key, before: Manifest | None) -> bool:
        """Return whether only the status that is being written distinguishes a job from `before`,
        an earlier version of it.
        """
        now, status = self.job(key), self._writing.get(key)
        if now is None or before is None or status is None or now.get("status") != status:
            return False
        fields = ("uid", "generation", "deletionTimestamp")
        return all(now["metadata"].get(name) == before["metadata"].get(name) for name in fields)

    def pod_event(self, kind: str | None, pod: Manifest) -> set[Key]:
        """Put a pod into the cache or remove it, as a watch event or a response reports.

        The `kind` DELETED removes the pod. Every other kind puts this version of the pod into the
        cache, unless the version is outdated.

        Return the keys of the jobs that need a pass. There are none if the cache already has this
        version or the pod has no job, and two if the pod's label has changed.
        """
        thinned = self._thinned(pod)
        change = self._pods.tell(kind, thinned)
        if change is None:
            return set()
        self._index(change)
        if change.now is None:
            self._keep(thinned)
        return _job_keys(change)

    def kept_job(self, job: Manifest) -> Manifest:
        """Return a job of a LIST as `replace_jobs` takes it. An unchanged job needs no memory."""
        return self._jobs.same(job) or unmanaged(job)

    def kept_pod(self, pod: Manifest) -> Manifest:
        """Return a pod of a LIST as `replace_pods` takes it. An unchanged pod needs no memory."""
        return self._pods.same(pod) or thin(pod)

    def replace_jobs(
        self, items: Iterable[Manifest], resource_version: str, namespace: str | None
    ) -> set[Key]:
        """Bring the jobs of a namespace up to date with a consistent LIST.

        If `namespace` is None, the LIST has the jobs of all namespaces. Return the keys of the jobs
        that changed.
        """
        changes = self._jobs.replace(items, int(resource_version), namespace)
        for gone in self._remains.keys() - self._jobs.rows.keys():
            del self._remains[gone]
        return {table.key_of(job) for change in changes for job in change if job is not None}

    def replace_pods(
        self, items: Iterable[Manifest], resource_version: str, namespace: str | None
    ) -> set[Key]:
        """Bring the pods of a namespace up to date with a consistent LIST.

        If `namespace` is None, the LIST has the pods of all namespaces. Return the keys of the jobs
        that need a pass.
        """
        thinned = [self._pods.same(pod) or self._thinned(pod) for pod in items]
        changes = self._pods.replace(thinned, int(resource_version), namespace)
        for change in changes:
            self._index(change)
        return set().union(*map(_job_keys, changes))

    def forget(self, key: Key, uid: str) -> None:
        """Drop the pod with this UID, which is deleted. The UID never comes back."""
        for pod in self.pods(key):
            if pod["metadata"]["uid"] == uid:
                self._pods.forget(table.key_of(pod), uid)
                self._index(Change(pod, None))

    def _thinned(self, pod: Manifest) -> Manifest:
        """Thin a pod out, and let its grace period count from the first request for its deletion.

        A later request with a shorter grace period moves the deletion forward. A kubelet that has
        ended a pod requests no grace period at all. From that request alone, the pod would seem
        to have ended before its deletion was requested.
        """
        thinned = thin(pod)
        known = self._pods.rows.get(table.key_of(pod))
        if known is not None and known["metadata"]["uid"] == pod["metadata"]["uid"]:
            first, due = _deletion_requested_at(known), pod_fields.due(thinned)
            if first is not None and due is not None:
                seconds = int((due - first).total_seconds())
                thinned["metadata"]["deletionGracePeriodSeconds"] = max(seconds, 0)
        return thinned

    def _index(self, change: Change) -> None:
        """Bring the pods by job and the deleted pods in line with a change of one pod."""
        before, now = _job_key(change.before), _job_key(change.now)
        if before is not None and change.before is not None:
            pods = self._by_job[before]
            del pods[_name(change.before)]
            if not pods:
                del self._by_job[before]
            if change.now is None:
                self._keep(change.before)
        if now is not None and change.now is not None:
            self._by_job.setdefault(now, {})[_name(change.now)] = change.now
            self._remains.get(now, {}).pop(_name(change.now), None)

    def _keep(self, gone: Manifest) -> None:
        """Keep a deleted pod if its job still exists. Otherwise nothing would ever drop it."""
        key = _job_key(gone)
        if key is not None and self.job(key) is not None:
            self._remains.setdefault(key, {})[_name(gone)] = gone


def thin(pod: Mapping[str, Any]) -> Manifest:
    """Return only the fields of a pod that `pods.view` reads: memory holds thousands of pods.

    A pod that was thinned out before stays as it is.
    """
    spec = pod.get("spec") or {}
    kept: Manifest = {name: spec[name] for name in _POD_SPEC if name in spec}
    # The restart policy distinguishes sidecars from init containers that must succeed.
    kept["initContainers"] = [
        {field: container[field] for field in ("name", "restartPolicy") if field in container}
        | shortage.only_devices(container)
        for container in spec.get("initContainers") or []
    ]
    if containers := list(filter(None, map(shortage.only_devices, spec.get("containers") or []))):
        kept["containers"] = containers
    metadata = {name: pod["metadata"][name] for name in _POD_METADATA if name in pod["metadata"]}
    if queue.is_last(pod):
        metadata["annotations"] = {queue.LAST: "false"}
    return {"metadata": metadata, "spec": kept, "status": pod.get("status") or {}}


def _deletion_requested_at(pod: Manifest) -> datetime | None:
    due = pod_fields.due(pod)
    grace = timedelta(seconds=pod["metadata"].get("deletionGracePeriodSeconds") or 0)
    return None if due is None else due - grace


def unmanaged(job: Manifest) -> Manifest:
    """Return a job without `managedFields`, which may be as long as all other fields together."""
    metadata = {name: kept for name, kept in job["metadata"].items() if name != "managedFields"}
    return job | {"metadata": metadata}


def _name(found: Manifest) -> str:
    return str(found["metadata"]["name"])


def _job_keys(change: Change) -> set[Key]:
    keys = {_job_key(change.before), _job_key(change.now)}
    return {key for key in keys if key is not None}


def _job_key(pod: Manifest | None) -> Key | None:
    if pod is None:
        return None
    name = (pod["metadata"].get("labels") or {}).get(names.LABEL_JOB_NAME)
    return None if name is None else Key(pod["metadata"]["namespace"], name)
