"""The cores whose time control groups grant to a process."""

import contextlib
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator

import pytest

from capstan.services import cpu_quota


@pytest.mark.parametrize(
    ("memberships", "files", "cores"),
    [
        ("0::/\n", {"cpu.max": "200000 100000"}, 2),
        ("0::/\n", {"cpu.max": "150000 100000"}, 2),
        ("0::/\n", {"cpu.max": "50000 100000"}, 1),
        ("0::/\n", {"cpu.max": "max 100000"}, None),
        ("0::/\n", {}, None),
        # The smallest quota on the way to the root applies.
        ("0::/a/b\n", {"a/cpu.max": "300000 100000", "a/b/cpu.max": "max 100000"}, 3),
        ("0::/a/b\n", {"a/cpu.max": "300000 100000", "a/b/cpu.max": "400000 100000"}, 3),
        # The path belongs to the host, and the container's group is mounted at the root.
        ("0::/kubepods/pod1\n", {"cpu.max": "400000 100000"}, 4),
        (
            "5:cpuset:/\n4:cpu,cpuacct:/docker/1\n0::/\n",
            {"cpu/cpu.cfs_quota_us": "500000", "cpu/cpu.cfs_period_us": "100000"},
            5,
        ),
        (
            "4:cpuacct,cpu:/\n",
            {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"},
            None,
        ),
        ("4:cpuset:/\n", {"cpuset/cpu.max": "100000 100000"}, None),
        # Programs that imitate Linux may write other texts.
        ("0::/\n", {"cpu.max": "max"}, None),
        ("0::/\n", {"cpu.max": "100000 0"}, None),
        ("0::/a\n", {"a/cpu.max": "", "cpu.max": "100000 100000"}, 1),
        ("\nnothing\n", {}, None),
    ],
)
def test_the_smallest_quota_of_the_groups_gives_the_cores(
    memberships: str, files: dict[str, str], cores: int | None, tmp_path: pathlib.Path
) -> None:
    groups = tmp_path / "groups"
    for name, text in files.items():
        (groups / name).parent.mkdir(parents=True, exist_ok=True)
        (groups / name).write_text(f"{text}\n")
    (tmp_path / "memberships").write_text(memberships)
    assert cpu_quota.cores(tmp_path / "memberships", groups) == cores


def test_a_system_without_control_groups_limits_nothing(tmp_path: pathlib.Path) -> None:
    assert cpu_quota.cores(tmp_path / "none", tmp_path) is None


@contextlib.contextmanager
def one_core() -> Iterator[pathlib.Path]:
    """Yield the list of processes of a control group that may use one core."""
    if (cpu_quota.GROUPS / "cgroup.controllers").exists():
        base, limits = cpu_quota.GROUPS, {"cpu.max": "100000 100000"}
    else:
        base = cpu_quota.GROUPS / "cpu"
        limits = {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "100000"}
    group = base / f"capstan-quota-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as refused:
        pytest.skip(f"makes a control group, which needs root and a mounted hierarchy: {refused}")
    try:
        try:
            for name, value in limits.items():
                (group / name).write_text(value)
        except OSError as refused:
            pytest.skip(f"limits a control group, which needs the controller cpu: {refused}")
        yield group / "cgroup.procs"
    finally:
        group.rmdir()


@pytest.mark.e2e
@pytest.mark.parametrize(
    "begin",
    ["tf.Session()", "tf.train.Server.create_local_server()"],
    ids=["a local session", "a server"],
)
def test_blas_threads_of_a_limited_process_are_no_more_than_its_cores(begin: str) -> None:
    program = f"""
import pathlib, sys
pathlib.Path(sys.argv[1]).write_text("0")
import numpy, threadpoolctl
import capstan as tf
begun = {begin}
print({{library["num_threads"] for library in threadpoolctl.threadpool_info()}})
"""
    variables = {name: text for name, text in os.environ.items() if "THREADS" not in name}
    with one_core() as processes:
        done = subprocess.run(
            [sys.executable, "-c", program, processes],
            env=variables,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert (done.stdout, done.stderr) == ("{1}\n", "")
