"""The page about programs of TensorFlow 1, docs/how-to/move-a-program.md, does what it says."""

import json
import pathlib
import re
import subprocess
import types
from typing import Any

import pytest

import capstan as tf

PAGE = pathlib.Path(__file__).parents[3] / "docs/how-to/move-a-program.md"
TEXT = PAGE.read_text(encoding="utf-8")

BEFORE = """\
import tensorflow as tf
import tensorflow.contrib.slim as slim
from tensorflow.python.ops import variables
import tensorflow_datasets
def build():
    import tensorflow.compat.v1 as tf
"""
AFTER = """\
import capstan as tf
import capstan.contrib.slim as slim
from capstan.python.ops import variables
import tensorflow_datasets
def build():
    import capstan.compat.v1 as tf
"""


def test_the_command_changes_the_imports_and_nothing_else(tmp_path: pathlib.Path) -> None:
    (command,) = re.findall(r"^    (sed .*)$", TEXT, re.MULTILINE)
    (tmp_path / "train.py").write_text(BEFORE)
    subprocess.run(["bash", "-c", command], cwd=tmp_path, check=True)
    assert (tmp_path / "train.py").read_text() == AFTER


CLUSTER = {"ps": ["a:1"], "worker": ["b:1", "c:1"]}


@pytest.mark.parametrize("by_flags", [True, False])
def test_a_program_finds_its_task(monkeypatch: pytest.MonkeyPatch, by_flags: bool) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    flags = types.SimpleNamespace(job_name="", ps_hosts="a:1", worker_hosts="b:1,c:1", task_index=1)
    if by_flags:
        flags.job_name = "worker"
    else:
        task = {"type": "worker", "index": 1}
        monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": CLUSTER, "task": task}))
    names: dict[str, Any] = {"tf": tf, "FLAGS": flags}
    exec(program, names)
    cluster, job_name, task_index = names["find_task"]()
    assert (cluster.as_dict(), job_name, task_index) == (CLUSTER, "worker", 1)
