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
TAGGED = {"values.yaml": "  tag: dev\n", "README.md": '| `image.tag` | `"dev"` |'}
"""The files of the chart that hold the default tag of the operator's image, each with the text
around the tag. In the tree, the tag is that of `make images`; in a release, it is the version."""
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
    """Write the chart as the archive that `helm package` would write, but with the version as the
    default tag of the image. Return its path.
    """
    archive = folder / f"capstan-{version}.tgz"
    with (
        archive.open("wb") as file,
        gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=EPOCH) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        ignored = (CHART / ".helmignore").read_text(encoding="utf-8").split()
        for path in sorted(CHART.rglob("*")):
            if path.is_file() and not any(path.match(pattern) for pattern in ignored):
                content = released(path, version)
                entry = tarfile.TarInfo(f"capstan/{path.relative_to(CHART).as_posix()}")
                entry.size, entry.mtime, entry.mode = len(content), EPOCH, 0o644
                tar.addfile(entry, io.BytesIO(content))
    return archive


def released(path: pathlib.Path, version: str) -> bytes:
    """Return the content of a file of the chart in a release. Raises SystemExit if the file does
    not hold the default tag of the image as `TAGGED` says.
    """
    content = path.read_text(encoding="utf-8")
    around = TAGGED.get(path.relative_to(CHART).as_posix(), "")
    if around not in content:
        sys.exit(f"dist: {path} must contain {around!r}, the tag that a release replaces")
    if around:
        content = content.replace(around, around.replace("dev", version))
    return content.encode()


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
