"""A script that the system could not start is reported before any task starts."""

import os
import subprocess
from pathlib import Path

import pytest

from capstan_operator.local import interpreter


def program(folder: Path, text: str | bytes, name: str = "start") -> Path:
    file = folder / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    file.chmod(0o755)
    return file


def starts(file: Path) -> bool:
    """Return whether the system itself starts a file."""
    try:
        return (
            subprocess.run([file], cwd=file.parent, capture_output=True, check=False).returncode
            == 0
        )
    except OSError:
        return False


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("#!/bin/sh\n", None),
        ("#! /bin/sh -e\n", None),
        ("#!/bin/sh", None),
        ("#!/usr/bin/env sh\n", None),
        ("#!/usr/bin/env -S sh -e\n", None),
        ("#!/usr/bin/env A=1 nosuch\n", None),
        ("#!/no/such/interp\n", "'/no/such/interp' does not exist"),
        ("#!/no/such/interp -x -y\n", "'/no/such/interp' does not exist"),
        ("#!/bin/sh\r\n", r"'/bin/sh\r' does not exist"),
        ("#!/tmp\n", "'/tmp' is not an executable file"),
        ("#!/etc/passwd\n", "'/etc/passwd' is not an executable file"),
        ("#!/usr/bin/env nosuch\n", "'nosuch' is not on the PATH"),
        ("#!/usr/bin/env nosuch -u\r\n", None),
        ("#!/usr/bin/env sh\r\n", r"'sh\r' is not on the PATH"),
        ("#!\n", "its first line names none"),
        ("echo hello\n", "its first line names none"),
        ("", "its first line names none"),
        ("caf\u00e9" * 99, "its first line names none"),
    ],
)
def test_a_script_needs_an_interpreter_that_exists(
    tmp_path: Path, text: str, complaint: str | None
) -> None:
    found = interpreter.complaint(program(tmp_path, text), tmp_path, os.defpath)
    assert found == complaint or (complaint and complaint in (found or ""))


def test_an_interpreter_may_be_a_script_that_needs_one(tmp_path: Path) -> None:
    program(tmp_path, "#!/bin/sh\n", "inner")
    outer = program(tmp_path, f"#!{tmp_path}/inner\n")
    assert interpreter.complaint(outer, tmp_path, "") is None
    assert starts(outer)
    program(tmp_path, "#!/no/such/interp\n", "inner")
    assert "'/no/such/interp' does not exist" in (interpreter.complaint(outer, tmp_path, "") or "")
    assert not starts(outer)


def test_a_relative_interpreter_is_looked_for_where_the_task_runs(tmp_path: Path) -> None:
    program(tmp_path, "#!/bin/sh\n", "inner")
    script = program(tmp_path, "#!inner\n")
    assert interpreter.complaint(script, tmp_path, "") is None
    assert starts(script)
    assert "'inner' does not exist" in (interpreter.complaint(script, tmp_path / "x", "") or "")


def test_a_script_that_is_its_own_interpreter_is_not_followed_for_ever(tmp_path: Path) -> None:
    script = program(tmp_path, f"#!{tmp_path}/start\n")
    assert "more than 4 scripts" in (interpreter.complaint(script, tmp_path, "") or "")
    assert not starts(script)


@pytest.mark.parametrize("text", [b"\x7fELF\x02\x01\x01\x00", b"\xcf\xfa\xed\xfe", b"MZ\x00\x00"])
def test_a_program_is_left_to_the_system(tmp_path: Path, text: bytes) -> None:
    assert interpreter.complaint(program(tmp_path, text), tmp_path, "") is None


def test_a_file_that_cannot_be_read_is_left_to_the_system(tmp_path: Path) -> None:
    assert interpreter.complaint(tmp_path / "none", tmp_path, "") is None
