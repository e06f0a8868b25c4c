"""The promises of the repository about its files, its pages and its `make` targets."""

import configparser
import importlib
import os
import pathlib
import re
import subprocess
import sys
import tomllib

import pytest

from conftest import ROOT, users_environment

if not (ROOT / ".git").exists():
    pytest.skip("needs a checkout: git clone the repository", allow_module_level=True)

LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")
PATH_IN_TEXT = re.compile(
    r"`((?:operator|runtime|docs|e2e|examples|requirements|\.ci)/[\w./-]*|[\w.-]+\.(?:md|toml))`"
)
MADE_BY_USERS = {"job.yaml"}
_NOT_IGNORED = ("--cached", "--others", "--exclude-standard")


def tracked() -> list[pathlib.Path]:
    """Return the files of the working tree that git knows or would add."""
    listed = subprocess.run(
        # By default git refuses to read a checkout that belongs to another user.
        ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z", *_NOT_IGNORED],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    paths = [ROOT / name for name in listed.stdout.split("\0") if name]
    return [path for path in paths if path.is_file()]


def pages() -> list[pathlib.Path]:
    return [path for path in tracked() if path.suffix == ".md"]


def locks() -> list[pathlib.Path]:
    return [*ROOT.glob("requirements/*.txt"), *ROOT.glob("examples/*/requirements.txt")]


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_names_only_files_that_exist(page: pathlib.Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = [page.parent / target.strip() for target in LINK.findall(text)]
    named = [name for name in PATH_IN_TEXT.findall(text) if name not in MADE_BY_USERS]
    missing = [str(link) for link in links if not link.exists()]
    # A name without a folder may be a file beside the page, at the root or in a half.
    missing += [
        name
        for name in named
        if not any(
            (folder / name).exists()
            for folder in (ROOT, page.parent, ROOT / "operator", ROOT / "runtime")
        )
        and name != "operator/__init__.py"
    ]
    assert missing == []


def test_the_folder_operator_is_not_a_package() -> None:
    assert not (ROOT / "operator/__init__.py").exists()
    code = "import operator; print(operator.add(1, 2))"
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert ran.stdout == "3\n"


def test_no_file_names_a_package_index() -> None:
    # The names are in pieces, so that this file does not contain them either.
    hosts = re.compile("py" r"pi\.org|python" r"hosted\.org|--(?:extra-)?index-url|--find-links ")
    naming = [
        str(path.relative_to(ROOT))
        for path in tracked()
        if path != pathlib.Path(__file__)
        and hosts.search(path.read_text(encoding="utf-8", errors="replace"))
    ]
    assert naming == []


def test_no_file_has_a_mark_of_unfinished_work() -> None:
    # The marks are in pieces, so that this file does not contain them either.
    # An error with a message tells a user that TensorFlow's interface lacks the method too.
    marks = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|raise NotImplemented" r"Error)\b(?!\()")
    unfinished = [
        str(path.relative_to(ROOT))
        for path in tracked()
        if marks.search(path.read_text(encoding="utf-8", errors="replace"))
    ]
    assert unfinished == []


@pytest.mark.parametrize("lock", locks(), ids=lambda lock: str(lock.relative_to(ROOT)))
def test_every_requirement_is_pinned_and_hashed(lock: pathlib.Path) -> None:
    entries = re.sub(r"\\\n", " ", lock.read_text(encoding="utf-8")).splitlines()
    requirements = [line for line in entries if line.strip() and not line.lstrip().startswith("#")]
    assert requirements
    loose = [line for line in requirements if "==" not in line or "--hash=sha256:" not in line]
    assert loose == []


def test_the_halves_and_the_e2e_tests_have_the_same_settings_of_pytest() -> None:
    halves = [
        tomllib.loads((ROOT / half / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
        for half in ("operator", "runtime")
    ]
    e2e = configparser.ConfigParser()
    e2e.read(ROOT / "e2e/pytest.ini")
    assert halves[0] == halves[1]
    assert halves[0]["filterwarnings"] == [e2e["pytest"]["filterwarnings"]]
    assert halves[0]["tmp_path_retention_policy"] == e2e["pytest"]["tmp_path_retention_policy"]
    of_halves = markers(halves[0]["markers"])
    of_e2e = markers(e2e["pytest"]["markers"].splitlines())
    common = of_halves.keys() & of_e2e.keys()
    assert common >= {"e2e", "soak"}
    assert {name: of_halves[name] for name in common} == {name: of_e2e[name] for name in common}


def markers(lines: list[str]) -> dict[str, str]:
    """Return the meaning of each marker of pytest, by its name."""
    pairs = (line.partition(": ") for line in lines if line)
    return {name: meaning for name, _, meaning in pairs}


@pytest.mark.e2e
def test_a_run_prints_its_seed_and_runs_the_files_in_order_with_nodes_last() -> None:
    command = (sys.executable, "-m", "pytest", "--collect-only", "-q", "--seed=5")
    ran = subprocess.run(
        command, cwd=ROOT / "e2e", env=users_environment(), capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    first, *lines = ran.stdout.splitlines()
    assert first.startswith("seed: 5 ")
    files = [line.partition("::")[0] for line in lines if "::" in line]
    on_nodes = [file for file in files if file.startswith("nodes/")]
    # These tests have a control plane of their own.
    gangs = [file for file in files if file == "test_gangs.py"]
    others = [file for file in files if file not in {*on_nodes, *gangs}]
    assert files == [*sorted(others), *gangs, *sorted(on_nodes)]
    assert on_nodes
    assert gangs


def test_the_root_has_no_package_and_no_settings_of_pytest() -> None:
    root = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "project" not in root
    assert "pytest" not in root["tool"]
    assert not (ROOT / "pytest.ini").exists()


def test_the_index_of_decisions_lists_every_decision_with_its_title() -> None:
    index = (ROOT / "docs/adr/README.md").read_text()
    decisions = sorted((ROOT / "docs/adr").glob("[0-9]*.md"))
    assert decisions
    for number, decision in enumerate(decisions, start=1):
        title = decision.read_text().splitlines()[0].removeprefix(f"# {number}. ")
        assert f"| [{number}]({decision.name}) | {title} |" in index.splitlines()


@pytest.mark.parametrize(
    "decision", sorted((ROOT / "docs/adr").glob("[0-9]*.md")), ids=lambda path: path.stem
)
def test_a_decision_has_the_four_sections(decision: pathlib.Path) -> None:
    headings = re.findall(r"^## (.*)$", decision.read_text(), re.MULTILINE)
    assert headings == ["Context", "Decision", "Consequences", "Turned down"]


def test_make_without_a_target_lists_all_targets_that_the_pages_name() -> None:
    listed = make(ROOT).stdout
    targets = set(re.findall(r"make ([a-z-]+)", listed))
    assert {"check", "test", "demo", "generate"} <= targets
    named = {
        target
        for page in pages()
        for target in re.findall(r"(?:^ {4}|`)make ([a-z-]+)", page.read_text(), re.MULTILINE)
    }
    assert named <= targets


def test_make_refuses_a_python_that_is_too_old_or_not_installed(tmp_path: pathlib.Path) -> None:
    old = tmp_path / "python-old"
    old.write_text('#!/bin/sh\n[ "$1" = -V ] && echo Python 3.8.1 && exit\nexit 1\n')
    old.chmod(0o755)
    for python, words in ((str(old), "Python 3.8.1"), ("no-such-python", "not installed")):
        ran = make_in_a_bare_copy(tmp_path, "demo", f"PYTHON={python}")
        assert ran.returncode == 2
        assert "Capstan needs Python 3.11 or newer" in ran.stderr
        assert words in ran.stderr
        assert "make PYTHON=" in ran.stderr


def test_make_names_the_package_to_install_if_venv_is_missing(tmp_path: pathlib.Path) -> None:
    bare = tmp_path / "python-bare"
    bare.write_text('#!/bin/sh\ncase "$2" in *ensurepip*) exit 1;; esac\nexit 0\n')
    bare.chmod(0o755)
    ran = make_in_a_bare_copy(tmp_path, "demo", f"PYTHON={bare}")
    assert ran.returncode == 2
    assert "apt-get install python3-venv" in ran.stderr


@pytest.mark.e2e
def test_make_refuses_an_unknown_suite_before_it_installs_anything(tmp_path: pathlib.Path) -> None:
    for target in ("test", "soak"):
        ran = make_in_a_bare_copy(
            tmp_path, target, "SUITES=operator sty", f"PYTHON={sys.executable}"
        )
        assert ran.returncode == 2
        assert "no suite is called `sty`: there are " in ran.stdout
        assert "setup: Capstan" not in ran.stdout


def test_the_end_of_a_run_says_why_tests_were_skipped(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT / ".ci")
    reports = importlib.import_module("reports")
    (tmp_path / "test_file.py").write_text(
        "import pytest\npytest.skip('needs CuPy: install it', allow_module_level=True)\n"
    )
    (tmp_path / "test_one.py").write_text(
        "import pytest\ndef test_it():\n    pytest.skip('needs root: use sudo')\n"
    )
    report = tmp_path / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", f"--junit-xml={report}", str(tmp_path)]
    subprocess.run(command, cwd=tmp_path, env=users_environment(), check=True, capture_output=True)
    result = reports.Result("all", True, 0, 1.0, list(reports.tests(report)))
    assert sorted(reports.skipped([result])) == [
        "1 skipped: needs CuPy: install it",
        "1 skipped: needs root: use sudo",
    ]


def make_in_a_bare_copy(folder: pathlib.Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `make` in a folder with only the Makefile and the files that it depends on."""
    scripts = (".ci/suites.py", ".ci/reports.py")
    files = ("Makefile", *scripts, "operator/pyproject.toml", "runtime/pyproject.toml")
    for name in files:
        copy = folder / name
        copy.parent.mkdir(exist_ok=True)
        copy.write_bytes((ROOT / name).read_bytes())
    for lock in locks():
        copy = folder / lock.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(lock.read_bytes())
    return make(folder, *arguments)


def make(folder: pathlib.Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", *arguments],
        cwd=folder,
        env=users_environment(),
        capture_output=True,
        text=True,
        check=False,
    )


def test_ci_runs_make_test() -> None:
    script = ROOT / ".ci/run"
    assert os.access(script, os.X_OK)
    assert script.read_text().splitlines()[-1] == "exec make test"
    assert "set -euo pipefail" in script.read_text()
