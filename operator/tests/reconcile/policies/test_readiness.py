"""Which tasks get a readiness probe from the operator."""

from typing import Any

import pytest
from reconcile.world import make_job, task

from capstan_operator.api.status import Progress, Status
from capstan_operator.reconcile.policies import readiness

REPORTED = Status(progress=Progress(step=1))


def runs(**trainer: Any) -> dict[str, Any]:
    return {"template": {"spec": {"containers": [{"name": "trainer", **trainer}]}}}


@pytest.mark.parametrize(
    "trainer, status, probed",
    [
        ({"command": ["python", "train.py"]}, Status(), False),
        ({"command": ["python", "train.py"]}, REPORTED, True),
        ({"command": ["python", "-m", "capstan", "serve"]}, Status(), True),
        ({"command": ["python"], "args": ["-m", "capstan", "serve"]}, Status(), True),
        ({"args": ["-m", "capstan"]}, Status(), True),
        ({"command": ["python", "-m", "capstan_like"]}, Status(), False),
        ({"command": ["sh", "-c", "python -m capstan serve"]}, Status(), False),
        ({"command": ["python", "train.py", "--m", "capstan"]}, Status(), False),
    ],
)
def test_a_task_is_probed_if_its_program_is_known_to_answer(
    trainer: dict[str, Any], status: Status, probed: bool
) -> None:
    job = make_job(each={"ps": runs(**trainer)})
    assert readiness.is_probed(job, status, task("ps-0")) is probed


@pytest.mark.parametrize("status", [Status(), REPORTED])
def test_a_task_with_certificates_is_never_probed(status: Status) -> None:
    trainer = {"command": ["python", "-m", "capstan", "serve"]}
    encrypted = runs(**trainer, env=[{"name": "CAPSTAN_TLS_DIR", "value": "/tls"}])
    job = make_job(each={"ps": encrypted, "worker": runs(**trainer)})
    assert not readiness.is_probed(job, status, task("ps-0"))
    assert readiness.is_probed(job, status, task("worker-0"))


def test_an_evaluator_is_never_probed() -> None:
    job = make_job(evaluator=1, each={"evaluator": runs(command=["python", "-m", "capstan"])})
    assert not readiness.is_probed(job, REPORTED, task("evaluator-0"))
