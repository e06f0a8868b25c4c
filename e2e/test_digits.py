"""The example `digits`: its data, its program without a cluster, and its errors on bad input."""

import importlib.util
import json
import pathlib
import re
import socket
import subprocess
import sys
from types import ModuleType

import pytest

from conftest import ROOT, Shell

EXAMPLE = ROOT / "examples/digits"
TRAIN = EXAMPLE / "train.py"
CAPSTANCTL = pathlib.Path(sys.executable).with_name("capstanctl")
NO_TENSORFLOW = "needs TensorFlow: pip install -r requirements/oracle.txt, which `make test` does"
ACCURACY = re.compile(r"^test accuracy (\d\.\d{3})$", re.MULTILINE)


@pytest.fixture(scope="module")
def digits() -> ModuleType:
    spec = importlib.util.spec_from_file_location("digits", EXAMPLE / "digits.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.e2e
def test_the_data_are_the_digits_that_scikit_learn_ships(digits: ModuleType) -> None:
    training, test = digits.load()
    code = (
        "import sklearn.datasets, sys; d = sklearn.datasets.load_digits();"
        "rows = sorted(bytes(i.astype('u1')) + bytes([l]) for i, l in zip(d.data, d.target));"
        "sys.stdout.buffer.write(b''.join(rows))"
    )
    theirs = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    ours = sorted(
        bytes((image * 16).astype("u1")) + bytes([label])
        for part in (training, test)
        for image, label in zip(part.images, part.labels, strict=True)
    )
    assert len(ours) == 1797
    assert b"".join(ours) == theirs


def test_the_split_depends_only_on_the_seed(digits: ModuleType) -> None:
    (first, test), (again, test_again), (other, _) = digits.load(), digits.load(), digits.load(1)
    assert (first.labels == again.labels).all()
    assert (test.images == test_again.images).all()
    assert (first.labels != other.labels).any()
    assert (len(first.labels), len(test.labels)) == (1348, 449)


def test_a_pass_over_the_batches_shows_no_image_twice(digits: ModuleType) -> None:
    training, _ = digits.load()
    batches = digits.batches(training, 64, seed=3)
    images_read = [image.tobytes() for _ in range(1348 // 64) for image in next(batches).images]
    known = {image.tobytes() for image in training.images}
    assert len(set(images_read)) == len(images_read) - (1348 - len(known))
    assert set(images_read) <= known


def config(cluster: object, **task: object) -> str:
    return json.dumps({"cluster": cluster, "task": task})


ONE_WORKER = {"worker": ["127.0.0.1:20990"]}
BAD_CONFIGS = {
    "not JSON": "{cluster",
    "a list": "[]",
    "no task": json.dumps({"cluster": ONE_WORKER}),
    "no such job": config(ONE_WORKER, type="evaluator", index=0),
    "no such index": config(ONE_WORKER, type="worker", index=7),
    "an index that is not a number": config(ONE_WORKER, type="worker", index="x"),
    "a cluster that is not an object": config(7, type="worker", index=0),
}


@pytest.mark.e2e
@pytest.mark.parametrize("text", BAD_CONFIGS.values(), ids=BAD_CONFIGS)
def test_an_invalid_tf_config_gives_one_line_of_error_and_exit_status_2(
    shell: Shell, text: str
) -> None:
    ran = shell.run(sys.executable, TRAIN, env={"TF_CONFIG": text})
    assert ran.returncode == 2
    assert "TF_CONFIG" in ran.stderr
    assert len(ran.stderr.splitlines()) == 1
    assert ran.stdout == ""


@pytest.mark.e2e
@pytest.mark.parametrize(
    "arguments, named",
    [
        (["--job_name=worker", "--worker_hosts=127.0.0.1:20990", "--task_index=1"], "--task_index"),
        (["--job_name=ps", "--worker_hosts=127.0.0.1:20990"], "--job_name"),
        (["--worker_hosts=127.0.0.1:20990"], "--job_name"),
        (["--job_name=worker", "--worker_hosts=127.0.0.1:20990", "--task_index=x"], "--task_index"),
    ],
)
def test_the_error_about_an_invalid_flag_names_it_and_gives_exit_status_2(
    shell: Shell, arguments: list[str], named: str
) -> None:
    ran = shell.run(sys.executable, TRAIN, *arguments)
    assert ran.returncode == 2
    assert named in ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.e2e
def test_a_port_in_use_gives_one_line_with_the_address_and_exit_status_2(shell: Shell) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        ran = shell.run(sys.executable, TRAIN, "--job_name=worker", f"--worker_hosts={address}")
    assert ran.returncode == 2
    assert address in ran.stderr
    assert len(ran.stderr.splitlines()) == 1


@pytest.mark.e2e
def test_the_program_trains_without_a_cluster_and_writes_a_checkpoint(shell: Shell) -> None:
    ran = shell.run(sys.executable, TRAIN, "--steps=1500", "--checkpoint_dir=saved")
    assert ran.returncode == 0, ran.stderr
    accuracy = ACCURACY.search(ran.stdout)
    assert accuracy is not None
    assert float(accuracy[1]) >= 0.95
    assert (shell.folder / "saved/checkpoint").read_text().splitlines()[0] == (
        'model_checkpoint_path: "model.ckpt-1500"'
    )


@pytest.mark.e2e
def test_the_program_resumes_from_its_checkpoint(shell: Shell) -> None:
    shell.run(sys.executable, TRAIN, "--steps=300", "--checkpoint_dir=saved")
    ran = shell.run(sys.executable, TRAIN, "--steps=400", "--checkpoint_dir=saved")
    assert ran.returncode == 0, ran.stderr
    assert re.search(r"[Rr]estor\w* .*model\.ckpt-300", ran.stderr)
    names = {path.name for path in (shell.folder / "saved").glob("*.index")}
    assert {"model.ckpt-300.index", "model.ckpt-400.index"} <= names


@pytest.mark.e2e
def test_an_evaluator_measures_the_checkpoints_of_a_job_with_a_chief(shell: Shell) -> None:
    for file in ("digits.py", "train.py", "evaluate.py"):
        (shell.folder / file).write_bytes((EXAMPLE / file).read_bytes())
    job = (EXAMPLE / "job-chief.yaml").read_text()
    short = re.sub(r"(train|evaluate)\.py\]", r"\1.py, --steps=1500]", job)
    (shell.folder / "job.yaml").write_text(short)
    ran = shell.run(CAPSTANCTL, "run", "job.yaml")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    # The job has succeeded when the chief ends. The evaluator then measures the last checkpoint.
    log = (shell.folder / ".capstan/digits-chief/evaluator-0.1.log").read_text()
    measured = re.findall(r"^step (\d+): test accuracy (\d\.\d{3})$", log, re.MULTILINE)[-1]
    assert int(measured[0]) >= 1500
    assert float(measured[1]) >= 0.9


@pytest.mark.e2e
def test_tensorflow_runs_the_same_program(shell: Shell) -> None:
    if importlib.util.find_spec("tensorflow") is None:
        pytest.skip(NO_TENSORFLOW)
    theirs = "import tensorflow.compat.v1 as tf; tf.disable_v2_behavior()"
    text = TRAIN.read_text()
    assert text.count("import capstan as tf") == 1
    script = shell.folder / "train.py"
    script.write_text(text.replace("import capstan as tf", theirs))
    (shell.folder / "digits.py").write_bytes((EXAMPLE / "digits.py").read_bytes())
    ran = shell.run(sys.executable, script, "--steps=1500")
    assert ran.returncode == 0, ran.stderr
    accuracy = ACCURACY.search(ran.stdout)
    assert accuracy is not None
    assert float(accuracy[1]) >= 0.95
