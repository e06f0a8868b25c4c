"""The example `wide_deep.py`: an Estimator in every task of a job that loses a parameter server."""

import json
import re
import sys

import pytest

from conftest import ROOT, Shell

EXAMPLES = ROOT / "examples"
CAPSTANCTL = ROOT / ".venv/bin/capstanctl"


@pytest.mark.e2e
def test_an_estimator_trains_on_parameter_servers_and_is_evaluated(shell: Shell) -> None:
    (shell.folder / "wide_deep.py").write_bytes((EXAMPLES / "wide_deep.py").read_bytes())
    job = (EXAMPLES / "wide_deep.yaml").read_text()
    (shell.folder / "job.yaml").write_text(
        job.replace("wide_deep.py]", "wide_deep.py, --steps=600]")
    )
    ran = shell.run(CAPSTANCTL, "run", "job.yaml")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    folder = shell.folder / ".capstan/wide-deep"
    log = (folder / "evaluator-0.1.log").read_text()
    step, auc = re.findall(r"global step (\d+): .*?\bauc = (\d\.\d+)", log)[-1]
    assert int(step) >= 600
    assert float(auc) > 0.6
    # The last line of the job shows what the evaluator measured.
    shown = json.loads((folder / "evaluator-0.progress.json").read_text())
    assert shown["step"] == int(step)
    assert f"auc {float(auc):.3f}" in ran.stdout.splitlines()[-1]


@pytest.mark.e2e
def test_an_estimator_trains_in_one_process(shell: Shell) -> None:
    program = EXAMPLES / "wide_deep.py"
    ran = shell.run(sys.executable, program, "--steps=200", "--model_dir=model")
    assert ran.returncode == 0, ran.stderr
    assert re.search(r"global step 200: .*\bauc = 0\.[6-9]", ran.stderr)
