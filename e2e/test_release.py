"""A release: one version in all files, archives that anybody can build again, wheels that work.

`make dist` itself also installs all requirements and builds the images. These tests use the
packages of their own environment instead.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
from typing import Any

import pytest
import yaml

from conftest import ROOT, users_environment
from testbed.chart import Helm

RELEASE = ROOT / "release"
HALVES = {"runtime": "capstan", "operator": "capstan_operator"}
PIN = r"(?m)^([\w.-]+)==([\w.]+)(?: ; (.*?))? \\$"
VERSION = (ROOT / "VERSION").read_text(encoding="utf-8").strip()


def python(program: str, *words: object, cwd: pathlib.Path = ROOT) -> Any:
    """Run Python code that may import the modules of release/. Return the finished process."""
    command = [sys.executable, "-c", program, *map(str, words)]
    return subprocess.run(
        command,
        cwd=cwd,
        env=users_environment() | {"PYTHONPATH": str(RELEASE)},
        capture_output=True,
        text=True,
    )


@pytest.fixture
def tree(tmp_path: pathlib.Path) -> pathlib.Path:
    """A folder with only the files that have the version."""
    places = python("import json, version; print(json.dumps([*version.PLACES]))")
    for name in ("VERSION", "release/version.py", *json.loads(places.stdout)):
        copy = tmp_path / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy)
    return tmp_path


def version(tree: pathlib.Path, *words: str) -> Any:
    command = [sys.executable, tree / "release/version.py", *words]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.e2e
def test_every_file_has_the_version_of_the_file_version() -> None:
    ran = version(ROOT)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, f"{VERSION}\n", "")


@pytest.mark.e2e
def test_a_new_version_is_written_to_every_file(tree: pathlib.Path) -> None:
    ran = version(tree, "9.8.7")
    assert (ran.returncode, ran.stdout) == (0, "9.8.7\n"), ran.stderr
    left = [
        str(path.relative_to(tree))
        for path in tree.rglob("*.*")
        if path.is_file() and "release/" not in str(path) and "9.8.7" not in path.read_text()
    ]
    assert left == []


@pytest.mark.e2e
def test_a_file_with_another_version_is_named(tree: pathlib.Path) -> None:
    project = tree / "operator/pyproject.toml"
    project.write_text(project.read_text().replace(f'"{VERSION}"', '"0.0.9"'))
    ran = version(tree)
    assert ran.returncode == 1
    assert ran.stderr == f"operator/pyproject.toml has 0.0.9, and VERSION has {VERSION}\n"


@pytest.mark.e2e
def test_a_version_that_is_no_version_is_refused(tree: pathlib.Path) -> None:
    assert version(tree, "next").returncode == 2
    assert version(tree).returncode == 0


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A folder with the files of a release."""
    folder = tmp_path_factory.mktemp("dist")
    code = "import pathlib, sys, dist; dist.write(pathlib.Path(sys.argv[1]), sys.argv[2])"
    ran = python(code, folder, VERSION)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return folder


@pytest.mark.e2e
def test_two_builds_of_the_packages_and_the_chart_are_equal(
    dist: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    code = (
        "import pathlib, sys, packages;"
        "folder = pathlib.Path(sys.argv[1]);"
        "[packages.build(half, folder) for half in packages.HALVES];"
        "packages.chart(sys.argv[2], folder)"
    )
    ran = python(code, tmp_path, VERSION)
    assert ran.returncode == 0, ran.stderr
    again = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert len(again) == 5
    assert [name for name in again if (dist / name).read_bytes() != again[name]] == []


@pytest.mark.e2e
def test_the_hashes_of_a_release_are_right(dist: pathlib.Path) -> None:
    check = ["sha256sum", "--check", "SHA256SUMS"]
    checked = subprocess.run(check, cwd=dist, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert len(checked.stdout.splitlines()) == 7


@pytest.mark.e2e
@pytest.mark.parametrize("half", HALVES)
def test_a_wheel_works_in_an_environment_of_its_own(
    dist: pathlib.Path, tmp_path: pathlib.Path, half: str
) -> None:
    wheel = dist / f"{HALVES[half]}-{VERSION}-py3-none-any.whl"
    venv.create(tmp_path / "venv", with_pip=False)
    programs = tmp_path / "venv/bin"
    install = ("install", "-q", "--no-deps", "--no-index", wheel)
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python")
    subprocess.run([*pip, programs / "python", *install], check=True)
    [site] = (tmp_path / "venv/lib").glob("python*/site-packages")
    # The requirements come from the environment of the tests, whose own Capstan does not count.
    (site / "requirements.pth").write_text(sysconfig.get_path("purelib"))
    code = (
        "import pathlib, sys, dist;"
        "print(dist.try_out(sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]))"
    )
    ran = python(code, half, programs, VERSION)
    assert ran.returncode == 0, ran.stderr
    where = f"import {HALVES[half]} as half; print(half.__file__)"
    imported = subprocess.run(
        [programs / "python", "-c", where], cwd=tmp_path, capture_output=True, text=True
    )
    assert imported.stdout.startswith(str(tmp_path)), imported.stderr


@pytest.mark.e2e
@pytest.mark.parametrize("half", HALVES)
def test_the_bill_of_materials_lists_every_pinned_package_with_its_hashes(
    dist: pathlib.Path, half: str
) -> None:
    bill = json.loads((dist / f"{HALVES[half]}-{VERSION}.cdx.json").read_text())
    assert bill["bomFormat"] == "CycloneDX"
    described = bill["metadata"]["component"]
    assert (described["name"], described["version"]) == (HALVES[half], VERSION)
    pins = (ROOT / f"requirements/{half}.txt").read_text()
    pinned = set(re.findall(r"(?m)^([\w.-]+)(?:\[\w+\])?==([\w.]+)", pins))
    assert {(part["name"], part["version"]) for part in bill["components"]} == pinned
    for part in bill["components"]:
        [reference] = part["externalReferences"]
        assert reference["hashes"], part["name"]


def test_the_archive_of_the_chart_is_that_of_helm_with_the_image_of_the_release(
    helm: Helm, tmp_path: pathlib.Path
) -> None:
    ran = python(
        "import pathlib, sys, packages; packages.chart(sys.argv[1], pathlib.Path(sys.argv[2]))",
        *(VERSION, tmp_path),
    )
    assert ran.returncode == 0, ran.stderr
    name = f"capstan-{VERSION}.tgz"
    helm.run("lint", tmp_path / name)
    notes = helm.run("install", "capstan", tmp_path / name, "--dry-run=client")
    assert set(re.findall(r"capstan/operator:[\w.-]+\w", notes)) == {f"capstan/operator:{VERSION}"}
    helm.run("package", ROOT / "charts/capstan", "--destination", tmp_path / "helm")
    ours, helms = unpacked(tmp_path / name), unpacked(tmp_path / "helm" / name)
    # Helm writes the fields of Chart.yaml in another order.
    for files in (ours, helms):
        files["capstan/Chart.yaml"] = yaml.safe_load(files["capstan/Chart.yaml"])
    # The default tag is in both files. A checkout has the tag of `make images`.
    for name in ("capstan/values.yaml", "capstan/README.md"):
        assert helms[name].count(b"dev") == 1
        helms[name] = helms[name].replace(b"dev", VERSION.encode())
    assert ours == helms


def unpacked(path: pathlib.Path) -> dict[str, Any]:
    """Return the content of each file in an archive."""
    with tarfile.open(path) as archive:
        return {
            member.name: archive.extractfile(member).read()  # type: ignore[union-attr]
            for member in archive.getmembers()
        }


def test_the_base_of_the_images_has_a_digest() -> None:
    base = (ROOT / "images/base.txt").read_text()
    assert re.fullmatch(r"docker\.io/library/python:3\.11-slim@sha256:[0-9a-f]{64}\n", base)
    for image in ("runtime", "operator"):
        dockerfile = (ROOT / f"images/{image}.Dockerfile").read_text()
        name = base.partition("@")[0]
        assert f"\nARG BASE={name}\n" in dockerfile
        assert re.findall(r"(?m)^FROM (\S+)", dockerfile) == ["${BASE}", "${BASE}"]


def test_the_packages_of_cuda_are_pinned_as_wheels_beside_those_of_the_runtime() -> None:
    def pins(name: str) -> dict[str, str]:
        text = (ROOT / "requirements" / name).read_text()
        # NumPy has one version for each range of Python.
        return {f"{found[0]} {found[2]}": found[1] for found in re.findall(PIN, text)}

    cuda, runtime = pins("cuda.txt"), pins("runtime.txt")
    assert any(name.startswith("cupy-cuda13x ") for name in cuda)
    assert any(name.startswith("nvidia-cuda-nvrtc ") for name in cuda)
    assert any(name.startswith("nvidia-nccl-cu13 ") for name in cuda)
    numpy = {version for name, version in cuda.items() if name.startswith("numpy ")}
    assert numpy <= {version for name, version in runtime.items() if name.startswith("numpy ")}
