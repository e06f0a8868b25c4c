"""`make images`: which engine builds, under which names, and the message where none can.

The engines are scripts: real ones would build for minutes. `e2e/nodes/test_images.py` looks at the
images themselves.
"""

import pathlib
import subprocess

import pytest

from conftest import ROOT, users_environment
from testbed.images import RECIPES

ENGINES = ("docker", "podman", "buildah")
WORKS = 'echo "$0 $@" >>"$CALLS"\n'
HAS_NO_DAEMON = 'echo "a warning: level=warning" >&2; echo "no daemon for ${0##*/}" >&2; exit 1\n'
CANNOT_BUILD = WORKS + '[ "$1" != build ]\n'


class Made:
    """A run of `make images`: its exit status, its output, and the builds that it asked for."""

    def __init__(self, folder: pathlib.Path, engines: dict[str, str], **variables: str) -> None:
        """Run it to its end with these scripts as engines, and these variables."""
        calls = folder / "calls"
        calls.touch()
        for name in ENGINES:
            engine = folder / name
            engine.write_text(f"#!/bin/sh\n{engines[name]}")
            engine.chmod(0o755)
        environment = users_environment() | {"CALLS": str(calls)} | variables
        environment["PATH"] = f"{folder}:{environment['PATH']}"
        ran = subprocess.run(
            ["make", "images"], cwd=ROOT, env=environment, capture_output=True, text=True
        )
        self.status, self.out, self.err = ran.returncode, ran.stdout, ran.stderr
        lines = [line.split() for line in calls.read_text().splitlines()]
        self.builds = [
            [pathlib.Path(engine).name, *words]
            for engine, command, *words in lines
            if command == "build"
        ]


def test_the_first_engine_that_works_builds_all_under_the_names_that_nodes_look_for(
    tmp_path: pathlib.Path,
) -> None:
    made = Made(tmp_path, {"docker": HAS_NO_DAEMON, "podman": WORKS, "buildah": WORKS})
    assert made.status == 0, made.err
    assert "built by podman" in made.out
    assert {build[0] for build in made.builds} == {"podman"}
    names = [build[build.index("-t") + 1] for build in made.builds]
    # The last one starts from the first.
    assert names == [RECIPES[image].name for image in ("runtime", "operator", "digits")]


def test_where_no_engine_works_the_message_of_each_is_shown(tmp_path: pathlib.Path) -> None:
    made = Made(tmp_path, dict.fromkeys(ENGINES, HAS_NO_DAEMON))
    assert made.status != 0
    assert made.builds == []
    for engine in ENGINES:
        assert f"{engine} images: no daemon for {engine}" in made.err
    assert "warning" not in made.err


def test_no_build_follows_one_that_failed(tmp_path: pathlib.Path) -> None:
    made = Made(tmp_path, dict.fromkeys(ENGINES, CANNOT_BUILD))
    assert made.status != 0
    assert len(made.builds) == 1


@pytest.mark.parametrize("variable", ["PIP_INDEX_URL", "PIP_TRUSTED_HOST"])
def test_a_variable_of_pip_is_passed_on_by_name_alone(
    tmp_path: pathlib.Path, variable: str
) -> None:
    # The value may hold a password, and ps shows command lines.
    made = Made(tmp_path, dict.fromkeys(ENGINES, WORKS), **{variable: "a-secret"})
    assert made.status == 0, made.err
    for build in made.builds:
        assert build[build.index("--build-arg") + 1] == variable
        assert "a-secret" not in " ".join(build)


def test_no_variable_of_pip_gets_into_an_image() -> None:
    for image in ("runtime", "operator", "digits"):
        dockerfile = RECIPES[image].dockerfile
        assert isinstance(dockerfile, pathlib.Path)
        first, last = dockerfile.read_text(encoding="utf-8").rsplit("\nFROM ", 1)
        for variable in ("PIP_INDEX_URL", "PIP_TRUSTED_HOST"):
            assert f"\nARG {variable}=\n" in first
            assert variable not in last
