"""The NetworkPolicy of a job lets only the tasks of the job connect to its tasks."""

from reconcile.world import make_job, task

from capstan_operator.manifests import pod
from capstan_operator.manifests.network_policy import network_policy


def test_only_tasks_of_the_job_may_connect_to_its_tasks() -> None:
    job = make_job(cluster={"networkPolicy": True})
    made = network_policy(job)
    (rule,) = made["spec"]["ingress"]
    (source,) = rule["from"]
    assert made["spec"]["policyTypes"] == ["Ingress"]
    assert "ports" not in rule, "tasks also listen on ports that the system chooses"
    for selector in (made["spec"]["podSelector"], source["podSelector"]):
        a_pod = pod.pod(job, task("ps-0"), pod.environment(job), attempt=1, epoch=1)
        assert selector["matchLabels"].items() <= a_pod["metadata"]["labels"].items()
        assert selector["matchLabels"] == {"capstan.dev/job-name": "digits"}


def test_the_policy_is_deleted_with_its_job() -> None:
    job = make_job()
    made = network_policy(job)
    a_pod = pod.pod(job, task("ps-0"), pod.environment(job), attempt=1, epoch=1)
    assert made["metadata"]["ownerReferences"] == a_pod["metadata"]["ownerReferences"]
    assert made["metadata"]["name"] == "digits"
    assert made["metadata"]["namespace"] == a_pod["metadata"]["namespace"]
