"""Shells complete commands, flags, choices and names."""

import argparse
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from processes import DEADLINE_SECONDS

from capstan_operator.cli import completion, parser


def names(metavar: str, values: argparse.Namespace) -> Iterable[str]:
    return {"JOB": ["digits", "dogs"], "TASK": [f"{getattr(values, 'job', '')}-task"]}.get(
        metavar, []
    )


@pytest.mark.parametrize(
    "line, expected",
    [
        ("ex", "explain"),
        ("explain d", "digits dogs"),
        ("explain -n team-a d", "digits dogs"),
        ("explain digits d", ""),
        ("explain -n d", ""),
        ("explain --kubeconfig=x di", "digits"),
        ("explain --kubeconfig = x di", "digits"),
        ("top --output = d", ""),
        ("top --output = j", "json"),
        ("top --output =", "json yaml"),
        ("logs digits ", "digits-task"),
        ("logs digits ps-0 -f ", "digits-task"),
        ("logs digits --tail ", ""),
        ("wait digits --for ", "deleted finished running"),
        ("wait --for r", "running"),
        ("wait --tim", "--timeout"),
        ("top -o j", "json"),
        ("completion ", "bash fish zsh"),
        ("render ", ""),
        ("nosuch ", ""),
        ("-n team-a ex", "explain"),
        ("-n team-a explain d", "digits dogs"),
        ("-n d", ""),
        ("--h", "--help"),
    ],
)
def test_the_last_word_is_completed(line: str, expected: str) -> None:
    found = completion.candidates(parser.parser("capstanctl"), line.split(" "), names)
    assert " ".join(found) == expected


def test_every_command_is_offered() -> None:
    found = completion.candidates(parser.parser("capstanctl"), [""], names)
    assert set(found) >= {"run", "render", "explain", "logs", "top", "wait", "convert", "submit"}


@pytest.mark.e2e
@pytest.mark.parametrize(
    "shell, ask",
    [
        (
            "bash",
            "COMP_WORDS=(capstanctl explain d); COMP_CWORD=2; _capstanctl; "
            'printf "%s\\n" "${COMPREPLY[@]}"',
        ),
        (
            "zsh",
            "words=(capstanctl explain d); CURRENT=3; compadd() { print -l ${@:2} }; _capstanctl",
        ),
        ("fish", "complete --do-complete 'capstanctl explain d'"),
    ],
)
def test_a_shell_asks_for_the_jobs_of_the_folder(shell: str, ask: str, tmp_path: Path) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"needs {shell}: apt-get install {shell}")
    for name in ("digits", "dogs", "cats"):
        path = tmp_path / ".capstan" / name
        path.mkdir(parents=True)
        (path / "status.json").write_text("{}")
    stub = "compdef() { : }; " if shell == "zsh" else ""
    ran = subprocess.run(
        [program, "-c", f"{stub}{completion.script(shell)}\n{ask}"],
        cwd=tmp_path,
        env={"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=DEADLINE_SECONDS,
    )
    assert ran.stdout.split() == ["digits", "dogs"], ran.stderr
