"""The small programs of `examples` print the lines that the gallery shows."""

import pathlib
import re
import sys

import pytest

from conftest import ROOT, Shell

EXAMPLES = ROOT / "examples"
CAPSTANCTL = ROOT / ".venv/bin/capstanctl"
GALLERY = (EXAMPLES / "README.md").read_text(encoding="utf-8")
SHOWN = dict(
    re.findall(r"```\n\$ python examples/(\S+)\n(.*?)```", GALLERY, flags=re.DOTALL | re.MULTILINE)
)


def test_the_gallery_shows_the_output_of_every_small_program() -> None:
    # These are jobs of several processes. The gallery shows their commands.
    jobs = {"multi_worker.py", "supervisor.py", "wide_deep.py"}
    assert SHOWN.keys() == {path.name for path in EXAMPLES.glob("*.py")} - jobs
    for path in [*EXAMPLES.glob("*.py"), *EXAMPLES.rglob("*.yaml")]:
        assert str(path.relative_to(ROOT)) in GALLERY


@pytest.mark.parametrize("job", sorted(EXAMPLES.rglob("*.yaml")), ids=lambda path: path.stem)
def test_a_job_names_the_folder_of_checkpoints_only_if_a_cluster_gives_it_one(
    job: pathlib.Path,
) -> None:
    lines = [line for line in job.read_text().splitlines() if not line.startswith("#")]
    if any("$(CAPSTAN_CHECKPOINT_DIR)" in line for line in lines):
        assert "  checkpoint:" in lines


@pytest.mark.e2e
@pytest.mark.parametrize("program", sorted(SHOWN))
def test_a_program_prints_the_lines_of_the_gallery(shell: Shell, program: str) -> None:
    ran = shell.run(sys.executable, EXAMPLES / program)
    assert ran.stdout == SHOWN[program], ran.stderr


@pytest.mark.e2e
def test_a_supervised_job_fits_its_line(shell: Shell) -> None:
    (shell.folder / "supervisor.py").write_bytes((EXAMPLES / "supervisor.py").read_bytes())
    job = (EXAMPLES / "supervisor.yaml").read_text()
    (shell.folder / "job.yaml").write_text(job.replace(".py]", ".py, --steps=400]"))
    ran = shell.run(CAPSTANCTL, "run", "job.yaml")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    log = (shell.folder / ".capstan/supervisor/worker-0.1.log").read_text()
    assert "y = 2.00 x + 10.00\n" in log


@pytest.mark.e2e
def test_equal_workers_train_without_a_parameter_server(shell: Shell) -> None:
    for name in ("multi_worker.py", "multi_worker.yaml"):
        (shell.folder / name).write_bytes((EXAMPLES / name).read_bytes())
    ran = shell.run(CAPSTANCTL, "run", "multi_worker.yaml")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert re.search(r"multi-worker: Succeeded  loss 0\.0\d+  steps 400  restarts 0", ran.stdout)
