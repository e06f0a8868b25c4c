"""Programs of TensorFlow 1.15 itself run on Capstan's servers.

TensorFlow 1.15 needs Python 3.7, which no other test needs. `CAPSTAN_TENSORFLOW_1` names a Python
that has it.
"""

import os
import pathlib
import re
import subprocess

import genuine
import pytest

PYTHON = os.environ.get("CAPSTAN_TENSORFLOW_1")
CLIENT = pathlib.Path(__file__).with_name("tensorflow_1_client.py")

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        PYTHON is None,
        reason="needs TensorFlow 1.15: python3.7 -m venv tf1; tf1/bin/pip install "
        "tensorflow==1.15.5 'protobuf<3.21'; export CAPSTAN_TENSORFLOW_1=$PWD/tf1/bin/python",
    ),
]


def test_programs_of_tensorflow_1_run_unchanged_on_our_servers(tmp_path: pathlib.Path) -> None:
    # TensorFlow 2, which this process has imported, sets variables that TensorFlow 1 reads.
    environment = {name: value for name, value in os.environ.items() if name[:3] != "TF2"}
    tasks = genuine.Tasks(ps=1, worker=2)
    try:
        assert PYTHON is not None
        client = subprocess.run(
            [PYTHON, "-W", "ignore", str(CLIENT), tasks.target(), str(tmp_path)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
    finally:
        tasks.close()
    names = re.search(r"^OTHERS = \((.*?)\)", CLIENT.read_text(), re.MULTILINE | re.DOTALL)
    assert names is not None
    expected = ["training", "synchronous_training", *re.findall(r"\w+", names[1])]
    assert client.stdout.split() == expected, client.stderr[-2000:]
