"""`make images` chooses an engine, names the images, and explains why no engine works.

The engines here are scripts, because real engines would build for minutes.
`e2e/nodes/test_images.py` tests the images themselves.
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
    """A run of `make images`: its exit status, its output, and the builds that it started."""

    def __init__(self, folder: pathlib.Path, engines: dict[str, str], **variables: str) -> None:
        """Run `make images` to its end with these scripts as engines and these variables."""
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


def test_the_first_working_engine_builds_all_images_under_the_names_that_nodes_use(
    tmp_path: pathlib.Path,
) -> None:
    made = Made(tmp_path, {"docker": HAS_NO_DAEMON, "podman": WORKS, "buildah": WORKS})
    assert made.status == 0, made.err
    assert "built by podman" in made.out
    assert {build[0] for build in made.builds} == {"podman"}
    names = [build[build.index("-t") + 1] for build in made.builds]
    # `digits` starts from `runtime`.
    assert names == [RECIPES[image].name for image in ("runtime", "operator", "digits")]


def test_the_error_shows_the_message_of_each_engine_if_none_works(tmp_path: pathlib.Path) -> None:
    made = Made(tmp_path, dict.fromkeys(ENGINES, HAS_NO_DAEMON))
    assert made.status != 0
    assert made.builds == []
    for engine in ENGINES:
        assert f"{engine} images: no daemon for {engine}" in made.err
    assert "warning" not in made.err


def test_no_build_starts_after_a_failed_build(tmp_path: pathlib.Path) -> None:
    made = Made(tmp_path, dict.fromkeys(ENGINES, CANNOT_BUILD))
    assert made.status != 0
    assert len(made.builds) == 1


@pytest.mark.parametrize("variable", ["PIP_INDEX_URL", "PIP_TRUSTED_HOST"])
def test_a_variable_of_pip_is_passed_by_its_name_without_its_value(
    tmp_path: pathlib.Path, variable: str
) -> None:
    # The value may hold a password, and ps shows command lines.
    made = Made(tmp_path, dict.fromkeys(ENGINES, WORKS), **{variable: "a-secret"})
    assert made.status == 0, made.err
    for build in made.builds:
        assert build[build.index("--build-arg") + 1] == variable
        assert "a-secret" not in " ".join(build)


def test_no_image_contains_a_variable_of_pip() -> None:
    for image in ("runtime", "operator", "digits"):
        dockerfile = RECIPES[image].dockerfile
        assert isinstance(dockerfile, pathlib.Path)
        first, last = dockerfile.read_text(encoding="utf-8").rsplit("\nFROM ", 1)
        for variable in ("PIP_INDEX_URL", "PIP_TRUSTED_HOST"):
            assert f"\nARG {variable}=\n" in first
            assert variable not in last
