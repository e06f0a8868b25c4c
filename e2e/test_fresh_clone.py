"""The demo in a fresh clone, on a machine with Python, make and access to packages."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from conftest import ROOT, Shell, users_environment
from test_demo import last_line, status
from test_repository import tracked

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]


@pytest.fixture
def clone(tmp_path: pathlib.Path) -> pathlib.Path:
    """A folder with exactly the files of this working tree that git knows or would add."""
    folder = tmp_path / "clone"
    for path in tracked():
        copy = folder / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy)
    return folder


def base_python() -> str:
    """Return the Python from which the environment of the tests was made."""
    return os.path.join(sys.base_prefix, "bin", "python3")


def test_the_first_command_of_the_readme_installs_capstan_and_trains_digits(
    shell: Shell, clone: pathlib.Path
) -> None:
    process = shell.start("make", "demo", f"PYTHON={base_python()}", cwd=clone)
    out, err = process.communicate(timeout=880)
    if re.search(r"No matching distribution|Temporary failure|Connection", err):
        pytest.skip(f"no package can be installed here: {err.strip().splitlines()[-1]}")
    assert process.returncode == 0, out + err
    assert "setup: Capstan's own requirements" in out
    accuracy, steps, restarts = last_line(out).groups()
    assert float(accuracy) >= 0.95
    assert int(steps) >= 20000
    assert restarts == "0"
    assert status(clone)["phase"] == "Succeeded"
    assert shell.alive() == []
    again = subprocess.run(
        ["make", "--question", ".venv/.product", f"PYTHON={base_python()}"],
        cwd=clone,
        env=users_environment(),
        check=False,
    )
    assert again.returncode == 0, "a second run would set up again"
