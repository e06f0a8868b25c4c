"""The Service of a job gives each task a DNS name, also before the task is ready."""

from reconcile.world import make_job, task

from capstan_operator.manifests import pod
from capstan_operator.manifests.service import service


def test_tasks_have_names_before_they_are_ready_and_no_address_in_common() -> None:
    made = service(make_job())
    assert made["metadata"]["name"] == "digits"
    assert made["metadata"]["namespace"] == "default"
    assert made["spec"] == {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": {"capstan.dev/job-name": "digits"},
        "ports": [{"name": "grpc", "port": 2222}],
    }


def test_the_service_has_the_name_and_port_of_the_task_addresses() -> None:
    job = make_job(cluster={"port": 7000})
    made = service(job)
    assert made["spec"]["ports"][0]["port"] == 7000
    host, port = pod.address(job)(task("ps-0")).split(":")
    assert host.split(".")[:2] == ["ps-0", made["metadata"]["name"]]
    assert port == "7000"


def test_the_service_selects_the_pods_of_its_job_and_is_deleted_with_the_job() -> None:
    job = make_job()
    made = service(job)
    a_pod = pod.pod(job, task("ps-0"), pod.environment(job), attempt=1, epoch=1)
    assert made["spec"]["selector"].items() <= a_pod["metadata"]["labels"].items()
    assert made["metadata"]["labels"].items() <= a_pod["metadata"]["labels"].items()
    (owner,) = made["metadata"]["ownerReferences"]
    assert [owner] == a_pod["metadata"]["ownerReferences"]
    assert (owner["uid"], owner["controller"]) == ("a-job", True)
    assert owner["blockOwnerDeletion"] is True
