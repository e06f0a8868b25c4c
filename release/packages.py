"""Build the files of a release: packages of both halves, the chart, and bills of materials."""

import contextlib
import gzip
import io
import os
import pathlib
import subprocess
import sys
import tarfile

from flit_core import buildapi

ROOT = pathlib.Path(__file__).resolve().parent.parent
HALVES = {"runtime": "capstan", "operator": "capstan_operator"}
"""The folder of each half, and the name of its package."""
CHART = ROOT / "charts/capstan"
EPOCH = 1577836800
"""The time of all files in the archives, in seconds since 1970, so that equal trees make equal
archives. It is 2020-01-01, because a ZIP file has no time before 1980."""


def build(half: str, folder: pathlib.Path) -> pathlib.Path:
    """Build the wheel and the source distribution of a half. Return the path of the wheel."""
    os.environ["SOURCE_DATE_EPOCH"] = str(EPOCH)
    with contextlib.chdir(ROOT / half):
        buildapi.build_sdist(str(folder))
        return folder / buildapi.build_wheel(str(folder))


def chart(version: str, folder: pathlib.Path) -> pathlib.Path:
    """Write the chart as the archive that `helm package` would write. Return its path."""
    archive = folder / f"capstan-{version}.tgz"
    with (
        archive.open("wb") as file,
        gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=EPOCH) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        ignored = (CHART / ".helmignore").read_text(encoding="utf-8").split()
        for path in sorted(CHART.rglob("*")):
            if path.is_file() and not any(path.match(pattern) for pattern in ignored):
                content = path.read_bytes()
                entry = tarfile.TarInfo(f"capstan/{path.relative_to(CHART).as_posix()}")
                entry.size, entry.mtime, entry.mode = len(content), EPOCH, 0o644
                tar.addfile(entry, io.BytesIO(content))
    return archive


def bill(half: str, version: str, folder: pathlib.Path) -> pathlib.Path:
    """Write the bill of materials of a half in the format of CycloneDX: the half, and every
    package that its lock file pins, with its hashes. Return its path.
    """
    written = folder / f"{HALVES[half]}-{version}.cdx.json"
    # A lock file does not say which package requires which, and the tool warns of that.
    tool = (sys.executable, "-W", "ignore", "-m", "cyclonedx_py")
    subprocess.run(
        [
            *(*tool, "requirements", f"--pyproject={ROOT / half / 'pyproject.toml'}"),
            *("--mc-type", "library", "--output-reproducible", "--output-format", "JSON"),
            *("--output-file", written, ROOT / f"requirements/{half}.txt"),
        ],
        check=True,
    )
    return written
