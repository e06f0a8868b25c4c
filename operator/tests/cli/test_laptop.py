"""Commands about this machine load no Kubernetes client, and help loads almost nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

LIST_MODULES = """
import sys
from capstan_operator.cli import main
try:
    main.main({arguments!r})
except SystemExit:
    pass
print(*sorted({{name.partition(".")[0] for name in sys.modules}}), file=sys.stderr)
"""


def loaded(folder: Path, *arguments: str) -> set[str]:
    """Return the top-level packages that a command loads."""
    code = LIST_MODULES.format(arguments=list(arguments))
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True
    )
    return set(ran.stderr.splitlines()[-1].split())


@pytest.mark.parametrize(
    "line", ["explain digits", "logs digits", "top", "wait digits", "version --client"]
)
def test_a_command_about_a_local_job_loads_no_kubernetes(tmp_path: Path, line: str) -> None:
    path = tmp_path / ".capstan" / "digits"
    path.mkdir(parents=True)
    (path / "status.json").write_text('{"phase": "Succeeded"}')
    assert not loaded(tmp_path, *line.split()) & {"aiohttp", "kopf", "kubernetes"}


def test_help_loads_neither_pydantic_nor_rich(tmp_path: Path) -> None:
    assert not loaded(tmp_path, "--help") & {"asyncio", "pydantic", "rich", "yaml"}
