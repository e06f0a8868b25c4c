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

    def __init__(
        self, folder: pathlib.Path, engines: dict[str, str], *words: str, **variables: str
    ) -> None:
        """Run `make images` to its end with these scripts as engines, these words on its command
        line, and these variables in its environment.
        """
        calls = folder / "calls"
        calls.touch()
        for name in ENGINES:
            engine = folder / name
            engine.write_text(f"#!/bin/sh\n{engines[name]}")
            engine.chmod(0o755)
        environment = users_environment() | {"CALLS": str(calls)} | variables
        environment["PATH"] = f"{folder}:{environment['PATH']}"
        ran = subprocess.run(
            ["make", "images", *words], cwd=ROOT, env=environment, capture_output=True, text=True
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


def test_a_release_names_the_tag_the_base_and_the_files_of_the_ids(tmp_path: pathlib.Path) -> None:
    base = "docker.io/library/python:3.11-slim@sha256:12"
    words = ("TAG=1.2.3", f"BASE={base}", f"IDS={tmp_path}", "CUDA=1")
    made = Made(tmp_path, dict.fromkeys(ENGINES, WORKS), *words, TAG="other")
    assert made.status == 0, made.err
    names = [build[build.index("-t") + 1] for build in made.builds]
    images = ("runtime", "operator", "digits", "runtime-cuda")
    assert names == [f"docker.io/capstan/{image}:1.2.3" for image in images]
    for build, image in zip(made.builds, images, strict=True):
        assert "VERSION=1.2.3" in build
        assert build[build.index("--iidfile") + 1] == f"{tmp_path}/{image}"
        from_base = image in ("runtime", "operator")
        assert (f"BASE={base}" if from_base else "RUNTIME=docker.io/capstan/runtime:1.2.3") in build


def test_a_tag_in_the_environment_does_not_count(tmp_path: pathlib.Path) -> None:
    made = Made(tmp_path, dict.fromkeys(ENGINES, WORKS), TAG="other", BASE="other")
    assert all(":dev" in build[build.index("-t") + 1] for build in made.builds)
    assert not [word for build in made.builds for word in build if word.startswith("BASE=")]


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
    dockerfiles = [RECIPES[image].dockerfile for image in ("runtime", "operator", "digits")]
    for dockerfile in (*dockerfiles, ROOT / "images/runtime-cuda.Dockerfile"):
        assert isinstance(dockerfile, pathlib.Path)
        first, last = dockerfile.read_text(encoding="utf-8").rsplit("\nFROM ", 1)
        for variable in ("PIP_INDEX_URL", "PIP_TRUSTED_HOST"):
            assert f"\nARG {variable}=\n" in first
            assert variable not in last
