"""A job of `capstanctl run` whose workers compute on the GPU of this machine, or on simulated ones.

`make gpu` runs it on the real GPU, with all steps of the example.
"""

import pathlib
import re
import shutil
import subprocess
import sys
from typing import Any

import pytest
import yaml

from conftest import ROOT, Shell, users_environment
from testbed import digits, wait

EXAMPLE = ROOT / "examples/digits"
TRAIN_ON_A_GPU = (ROOT / "e2e/testbed/gpu_input.py").read_text()
SLACK_BYTES = 64 << 20
"""Other programs may use the GPU, too."""
PLACED = (
    "hidden/MatMul: (MatMul): /job:worker/replica:0/task:0/device:GPU:0",
    "gradients/hidden/MatMul_grad/MatMul_1: (MatMul): /job:worker/replica:0/task:0/device:GPU:0",
    "hidden/weights: (VariableV2): /job:ps/replica:0/task:0/device:CPU:0",
    "Adam/update_hidden/weights/ApplyAdam: (ApplyAdam): /job:ps/replica:0/task:0/device:CPU:0",
)
FREE = """
from capstan.hardware import cuda
if cuda.usable():
    import cupy
    print(cupy.cuda.runtime.memGetInfo()[0])
"""

pytestmark = [pytest.mark.e2e, pytest.mark.gpu, pytest.mark.timeout(600)]


def free_bytes() -> int:
    """Return how much memory of the GPU no process uses, or 0 without a GPU."""
    words = (sys.executable, "-c", FREE)
    ran = subprocess.run(words, env=users_environment(), stdout=subprocess.PIPE, check=True)
    return int(ran.stdout or 0)


def job(*flags: str) -> dict[str, Any]:
    """Return the example with GPUs. Its workers have these flags, and slow input at first."""
    manifest: dict[str, Any] = yaml.safe_load((EXAMPLE / "job-gpu.yaml").read_text())
    worker = digits.container(manifest, "worker")
    worker["command"] = ["python", "-c", TRAIN_ON_A_GPU, *flags]
    worker["env"] = [{"name": "PYTHONPATH", "value": str(ROOT / "runtime/tests")}]
    return manifest


def kill(shell: Shell, task: str, step: int) -> None:
    """Kill a task at a global step, and wait until it is back and the job trains on."""
    status = shell.folder / ".capstan/digits/status.json"
    ran = shell.run(sys.executable, EXAMPLE / "chaos.py", status, "--kill", f"{task}@{step}")
    assert ran.returncode == 0, ran.stdout + ran.stderr


def log(shell: Shell, task: str) -> str:
    """Return the logs of all attempts of a task."""
    logs = sorted((shell.folder / ".capstan/digits").glob(f"{task}.*.log"))
    return "\n".join(path.read_text() for path in logs)


def test_digits_learns_on_gpus_although_a_worker_and_the_ps_are_killed(
    shell: Shell, capstanctl: pathlib.Path
) -> None:
    free = free_bytes()
    for name in ("train.py", "digits.py"):
        shutil.copy(EXAMPLE / name, shell.folder)
    flags = () if free else ("--steps=1500", "--learning_rate=0.005")
    (shell.folder / "job.yaml").write_text(yaml.safe_dump(job(*flags)))
    shared = {"TF_FORCE_GPU_ALLOW_GROWTH": "true"}
    running = shell.start(capstanctl, "run", "job.yaml", env=shared)
    kill(shell, "worker-1", step=100)
    checkpoints = shell.folder / ".capstan/digits/checkpoints"
    wait.until(lambda: digits.last_checkpoint(checkpoints))
    kill(shell, "ps-0", step=120)
    (shell.folder / "faster").touch()
    out, error = running.communicate(timeout=500)
    assert running.returncode == 0, out + error
    last = re.search(r"digits: Succeeded  accuracy (\S+)  steps \d+  restarts (\d+)\n$", out)
    assert last is not None, out
    assert float(last[1]) >= 0.95
    assert int(last[2]) >= 2
    written = log(shell, "worker-0")
    assert [line for line in PLACED if line not in written] == []
    assert re.search(r"[Rr]estor\w* .*model\.ckpt-[1-9]", written)
    if free:
        # Each process of the job has given its memory of the GPU back, the killed one too.
        wait.until(lambda: free_bytes() >= free - SLACK_BYTES)
