"""The promises for which the operator needs its rights.

Each function acts on a job and returns the condition that must then become true.
"""

import contextlib
from collections.abc import Callable, Mapping

from testbed import registry, wait
from testbed.faults import Fault
from testbed.rights import Proof
from testbed.story import LEASE, NAME, Story, condition, job, replica, row

Condition = Callable[[], object]


def the_operator_leads(proof: Proof) -> Condition:
    return proof.story.operator.leads


def the_operator_keeps_leading(proof: Proof) -> Condition:
    """The operator renews its Lease after it has acquired the Lease."""
    path = LEASE.format(proof.home)

    def is_renewed() -> bool:
        lease = proof.story.cluster.api.find(path)
        return lease is not None and lease["spec"]["renewTime"] > lease["spec"]["acquireTime"]

    return is_renewed


def a_job_starts(proof: Proof) -> Condition:
    """The operator makes the Service and the pods of a job that is submitted later."""
    # Without some rights the operator never becomes ready.
    with contextlib.suppress(AssertionError):
        wait.until(the_operator_leads(proof), within=5)
    proof.story.submit(job())
    return lambda: (
        proof.story.status().get("phase") == "Running"
        and proof.story.find_service(NAME) is not None
    )


def a_protected_job_starts(proof: Proof) -> Condition:
    """A job that asks for a NetworkPolicy has one, and starts."""
    document = job()
    document["spec"]["cluster"] = {"networkPolicy": True}
    proof.story.submit(document)
    policy = f"/apis/networking.k8s.io/v1/namespaces/{proof.story.namespace}/networkpolicies/{NAME}"
    return lambda: is_running(proof.story) and bool(proof.story.cluster.api.get(policy))


def a_job_with_a_claim_starts(proof: Proof) -> Condition:
    """A job that asks for a PersistentVolumeClaim has one, and then its Service.

    Its pods wait for a volume, which no part of this cluster provides.
    """
    document = job()
    claim = {"storage": "1Gi", "accessModes": ["ReadWriteOnce"]}
    document["spec"]["checkpoint"] = {"path": "/checkpoints", "volumeClaim": claim}
    story = proof.story
    story.submit(document)
    path = f"/api/v1/namespaces/{story.namespace}/persistentvolumeclaims/{NAME}-checkpoints"
    return lambda: story.find_service(NAME) is not None and story.cluster.api.find(path) is not None


def an_encrypted_job_has_its_secrets(proof: Proof) -> Condition:
    """The key of the authority and the certificate of each task are in Secrets before the pods."""
    document = job()
    document["spec"]["cluster"] = {"tls": {"mode": "Mutual"}}
    story = proof.story
    story.submit(document)
    uid = story.job()["metadata"]["uid"][:8]
    folder = f"/api/v1/namespaces/{story.namespace}/secrets"
    path = f"{folder}/{NAME}-worker-0-tls-{uid}"
    return lambda: story.find_service(NAME) is not None and story.cluster.api.find(path) is not None


def changed_objects_are_repaired(proof: Proof) -> Condition:
    """The NetworkPolicy and a Secret of a job have another content before the job starts."""
    story, api = proof.story, proof.story.cluster.api
    space = story.namespace
    policies = f"/apis/networking.k8s.io/v1/namespaces/{space}/networkpolicies"
    secrets = f"/api/v1/namespaces/{space}/secrets"
    all_pods = {"podSelector": {}, "policyTypes": ["Ingress", "Egress"], "ingress": [{}]}
    api.post(policies, {"metadata": {"name": NAME}, "spec": all_pods})
    document = job()
    document["spec"]["cluster"] = {"networkPolicy": True, "tls": {"mode": "Mutual"}}
    story.submit(document)
    story.until(lambda status: condition(status, "NameConflict"))
    uid = story.job()["metadata"]["uid"]
    kind = {"apiVersion": "capstan.dev/v1alpha1", "kind": "TrainingJob"}
    # Only those who may delete a Secret may change its owners, and the operator may not. It must
    # therefore keep an owner that it would write in another way.
    owner = {"name": NAME, "uid": uid, "controller": True, "blockOwnerDeletion": True}
    owned = {"ownerReferences": [{**kind, **owner}]}
    secret = {"name": f"{NAME}-worker-0-tls-{uid[:8]}", **owned}
    files = {"tls.crt": "", "tls.key": ""}
    api.post(secrets, {"metadata": secret, "type": "kubernetes.io/tls", "data": files})
    api.patch(f"{policies}/{NAME}", {"metadata": owned})
    story.kubectl("annotate", "tjob", NAME, "example.com/changed=yes")
    tasks = {"matchLabels": {"capstan.dev/job-name": NAME}}
    expected = {
        "podSelector": tasks,
        "policyTypes": ["Ingress"],
        "ingress": [{"from": [{"podSelector": tasks}]}],
    }
    return lambda: (
        is_running(story)
        and api.get(f"{policies}/{NAME}")["spec"] == expected
        and all(api.get(f"{secrets}/{secret['name']}")["data"].values())
    )


def a_scaled_job_has_its_cluster_file(proof: Proof) -> Condition:
    wait.until(a_job_starts(proof))
    story = proof.story
    story.kubectl("scale", f"tjob/{NAME}", "--replicas=3")
    uid = story.job()["metadata"]["uid"]
    path = f"/api/v1/namespaces/{story.namespace}/configmaps/{NAME}-cluster-{uid[:8]}"
    return lambda: is_running(story) and story.cluster.api.find(path) is not None


def a_failed_task_is_restarted(proof: Proof) -> Condition:
    wait.until(a_job_starts(proof))
    proof.story.kubelet.exit(proof.story.pod_key("worker-1"), 1)
    return lambda: row(proof.story.status(), "worker-1")["attempt"] == 2 and is_running(proof.story)


def a_task_whose_pod_vanished_is_restarted(proof: Proof) -> Condition:
    """The operator reads a vanished pod once more before it counts the pod as lost."""
    wait.until(a_job_starts(proof))
    proof.story.delete_pod("worker-1", gracePeriodSeconds=0)
    return lambda: row(proof.story.status(), "worker-1")["attempt"] == 2 and is_running(proof.story)


def a_change_that_no_watch_reports_is_noticed(proof: Proof) -> Condition:
    """The job has changed, so the operator cannot write a status to the version that it knows."""
    wait.until(a_job_starts(proof))
    wait.until(lambda: has_event(proof.story, "Running"))
    no_news = Fault(
        verbs=frozenset({"watch", "list"}), resources=frozenset({"trainingjobs"}), hole=True
    )
    proof.stack.enter_context(proof.proxy.fault(no_news))
    proof.story.kubectl("annotate", "tjob", NAME, "example.com/changed=yes")
    proof.story.kubelet.exit(proof.story.pod_key("worker-1"), 1)
    return lambda: row(proof.story.status(), "worker-1")["attempt"] == 2 and is_running(proof.story)


def a_lost_node_is_noticed(proof: Proof) -> Condition:
    """The pod is bound to a node that does not answer.

    If the node did not exist, Kubernetes would delete the pod after 40 seconds and give the reason.
    The operator would then know that the node is lost without reading it.
    """
    api, node = proof.story.cluster.api, f"silent-{proof.story.namespace}"
    registry.register_silent(api, node)
    proof.stack.callback(api.delete, f"{registry.NODES}/{node}")
    proof.story.submit(job(worker=replica(pod={"nodeName": node})))
    return lambda: row(proof.story.status(), "worker-0").get("reason") == "NodeLost"


def a_taken_name_is_reported(proof: Proof) -> Condition:
    ports = [{"port": 80}]
    services = f"/api/v1/namespaces/{proof.story.namespace}/services"
    proof.story.cluster.api.post(services, {"metadata": {"name": NAME}, "spec": {"ports": ports}})
    proof.story.submit(job())
    return lambda: condition(proof.story.status(), "NameConflict").get("status") == "True"


def a_deleted_service_is_recreated(proof: Proof) -> Condition:
    """The operator learns of the deletion by its watch. The proxy holds back its lists."""
    wait.until(a_job_starts(proof))
    first = proof.story.service(NAME)
    wait.until(lambda: is_answered(proof, "watch", "services"))
    no_lists = Fault(frozenset({"list"}), frozenset({"services"}), hole=True)
    proof.stack.enter_context(proof.proxy.fault(no_lists))
    proof.story.kubectl("delete", "service", NAME)

    def is_recreated() -> bool:
        second = proof.story.find_service(NAME)
        return second is not None and second["metadata"]["uid"] != first["metadata"]["uid"]

    return is_recreated


def a_changed_service_is_repaired(proof: Proof) -> Condition:
    """A user changes the selector of the Service of a running job."""
    story = proof.story
    wait.until(a_job_starts(proof))
    path = f"/api/v1/namespaces/{story.namespace}/services/{NAME}"
    selector = story.service(NAME)["spec"]["selector"]
    story.cluster.api.patch(path, {"spec": {"selector": {"app": "other"}}})
    return lambda: story.service(NAME)["spec"]["selector"] == selector


def is_answered(proof: Proof, verb: str, resource: str) -> bool:
    """Return whether the operator has made such a request and got an answer."""
    return any(
        (request.verb, request.resource) == (verb, resource) and request.status
        for request in list(proof.proxy.requests)
    )


def a_finished_job_gives_back_its_quota(proof: Proof) -> Condition:
    """Without Kueue, the gate of the pod is removed here."""
    document = job(worker=replica(1))
    document["spec"]["scheduling"] = {"queueName": "training"}
    story = proof.story
    story.submit(document)
    story.until(lambda status: status["phase"] == "Queued")
    story.admit()
    story.until(lambda status: status["phase"] == "Running")
    story.kubelet.exit(story.pod_key("worker-0"), 0)
    story.until(lambda status: status["phase"] == "Succeeded")
    mark = "kueue.x-k8s.io/retriable-in-group"
    return lambda: mark in (story.pod("worker-0")["metadata"].get("annotations") or {})


def a_finished_job_is_deleted(proof: Proof) -> Condition:
    proof.story.started(job(worker=replica(1), run_policy={"ttlSecondsAfterFinished": 0}))
    proof.story.kubelet.exit(proof.story.pod_key("worker-0"), 0)
    return lambda: proof.story.find_job() is None


def events_are_reported(proof: Proof) -> Condition:
    wait.until(a_job_starts(proof))
    return lambda: has_event(proof.story, "Running")


def is_running(story: Story) -> bool:
    return bool(story.status().get("phase") == "Running")


def has_event(story: Story, reason: str) -> bool:
    return any(event_reason == reason for event_reason, _ in story.events())


Promise = Callable[[Proof], Condition]

BEHIND_A_PROXY = (a_change_that_no_watch_reports_is_noticed, a_deleted_service_is_recreated)
"""The promises in whose trials a proxy holds back some of the operator's requests."""

NEEDED_FOR: Mapping[str, Promise] = {
    "get leases": the_operator_leads,
    "create leases": the_operator_leads,
    "update leases": the_operator_keeps_leading,
    "list trainingjobs": a_job_starts,
    "watch trainingjobs": a_job_starts,
    "patch trainingjobs/status": a_job_starts,
    "update trainingjobs/finalizers": a_job_starts,
    "delete trainingjobs": a_finished_job_is_deleted,
    "get trainingjobs": a_change_that_no_watch_reports_is_noticed,
    "list pods": a_job_starts,
    "watch pods": a_job_starts,
    "create pods": a_job_starts,
    "get pods": a_task_whose_pod_vanished_is_restarted,
    "delete pods": a_failed_task_is_restarted,
    "patch pods": a_finished_job_gives_back_its_quota,
    "list services": a_job_starts,
    "create services": a_job_starts,
    "watch services": a_deleted_service_is_recreated,
    "get services": a_taken_name_is_reported,
    "update services": a_changed_service_is_repaired,
    "get networkpolicies": a_protected_job_starts,
    "create networkpolicies": a_protected_job_starts,
    "update networkpolicies": changed_objects_are_repaired,
    "get persistentvolumeclaims": a_job_with_a_claim_starts,
    "create persistentvolumeclaims": a_job_with_a_claim_starts,
    "get secrets": an_encrypted_job_has_its_secrets,
    "create secrets": an_encrypted_job_has_its_secrets,
    "patch secrets": changed_objects_are_repaired,
    "create configmaps": a_scaled_job_has_its_cluster_file,
    "patch configmaps": a_scaled_job_has_its_cluster_file,
    "create events": events_are_reported,
    "get nodes": a_lost_node_is_noticed,
}
