"""`bench/gpu` on machines without a GPU: its rows run on a simulated GPU or on the CPU."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from conftest import ROOT

pytestmark = pytest.mark.e2e

BENCH = ROOT / "bench"
ROWS = sorted(path.stem for path in (BENCH / "gpu/rows").glob("*.py"))


def python(*words: str, folder: pathlib.Path = BENCH, **variables: str) -> str:
    """Run Python in a folder and return its output."""
    ran = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_each_row_runs_on_a_gpu_or_says_why_not() -> None:
    """The simulated GPU refuses NumPy arrays, and its kernels are those of a real one."""
    printed = python(
        *("-m", "testbed.gpu_rows", *ROWS),
        folder=ROOT / "e2e",
        PYTHONPATH=f"{BENCH}{os.pathsep}{ROOT / 'runtime/tests'}",
    )
    results = json.loads(printed)
    assert sorted(results) == ROWS
    refused = {name: reason for name, reason in results.items() if isinstance(reason, str)}
    assert {name: "bfloat16" in reason for name, reason in refused.items()} in (
        {"matmul_bfloat16": True},
        {},
    )
    assert results["adam"] == [2, 3]  # A step has run before, so that a refusal shows at once.


def test_a_row_is_measured_without_pytorch(tmp_path: pathlib.Path) -> None:
    words = ("--device=cpu", "--sizes=1000", "--window=0", f"--torch={tmp_path / 'none'}")
    line = json.loads(python("-m", "gpu.rows.pull", *words, ROUNDS="2"))
    assert line["sides"]["Capstan"]["min"] > 0
    assert line["sides"]["copy to or from pinned memory"] == {}
    assert (line["ratios"], line["rounds"], line["sizes"]) == ({}, 2, [1000])


def test_the_order_has_each_row_once() -> None:
    names = python("-c", "from gpu import order; print(*sorted(order.ORDER))")
    assert names.split() == ROWS


def test_the_table_compares_each_side_and_gives_the_reason_of_a_refusal() -> None:
    spread = {"median": 2.0, "min": 1.0, "max": 3.0}
    common = {"unit": "GB/s", "rounds": 7, "versions": {"CuPy": "14"}}
    lines = [
        {
            **common,
            "title": "adam",
            "goals": {"copy": 0.8},
            "ratios": {"copy": 0.5},
            "sides": {"Capstan": spread, "copy": {**spread, "median": 4.0}, "fused": {}},
        },
        {
            **common,
            "title": "bf16",
            "goals": {"PyTorch": 0.95},
            "ratios": {},
            "sides": {"Capstan": {"refused": "no such type"}, "PyTorch": spread},
        },
    ]
    shown = python("-c", f"from gpu import table; table.show({lines!r})").splitlines()
    assert [line for line in shown if line.startswith(("| adam", "| bf16"))] == [
        "| adam | GB/s | 2 | 1 to 3 | copy | 4 | 1 to 3 | 0.5 | 0.8 |",
        "| adam | GB/s | 2 | 1 to 3 | fused | not measured |  |  |  |",
        "| bf16 | GB/s | not measured |  | PyTorch | 2 | 1 to 3 |  | 0.95 |",
    ]
    assert shown[-1] == "bf16: Capstan refuses it: no such type"
