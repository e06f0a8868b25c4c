"""Build a release of Capstan in dist/, and try it: `make dist`.

dist/ then holds the wheels, the source distributions, the chart, a bill of materials of each half,
and SHA256SUMS. Each wheel is installed with its locked requirements into an environment of its own,
where its command or its package must show the version. At last `make images` builds the container
images with the version as their tag, and images.txt lists their IDs.
"""

import hashlib
import pathlib
import shutil
import subprocess
import sys
import tempfile
import venv

import packages
import version

DIST = packages.ROOT / "dist"
TRIED = {
    "runtime": ("python", "-c", "from capstan.core import release; print(release.VERSION)"),
    "operator": ("capstanctl", "version"),
}
"""The command of each half that must show the version."""


def install(half: str, wheel: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """Install a wheel with its locked requirements into a new environment. Return the folder of
    the environment's programs. Nothing is compiled, and pip checks the hash of every requirement.
    """
    venv.create(folder, with_pip=True)
    pip = (folder / "bin/python", "-m", "pip", "--disable-pip-version-check", "install", "-q")
    locked = packages.ROOT / f"requirements/{half}.txt"
    for words in (
        ("--only-binary=:all:", "--require-hashes", "-r", locked),
        ("--no-deps", "--no-index", wheel),
    ):
        subprocess.run([*pip, *words], check=True)
    return folder / "bin"


def try_out(half: str, programs: pathlib.Path, expected: str) -> str:
    """Run the command of a half in its environment, and return the output. Raises SystemExit if
    the command fails or does not show the version.
    """
    program, *words = TRIED[half]
    ran = subprocess.run(
        [programs / program, *words], cwd=programs, capture_output=True, text=True, check=False
    )
    if ran.returncode or expected not in ran.stdout:
        shown = f"status {ran.returncode}\n{ran.stdout}{ran.stderr}"
        sys.exit(f"dist: `{program} {words[0]}` of the wheel must show {expected}: {shown}")
    return ran.stdout


def sums(folder: pathlib.Path) -> None:
    """Write SHA256SUMS, which `sha256sum --check` reads."""
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in sorted(folder.iterdir())
        if path.is_file()
    ]
    (folder / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")


def write(folder: pathlib.Path, number: str) -> dict[str, pathlib.Path]:
    """Write all files of a release to a folder. Return the wheel of each half."""
    wheels = {half: packages.build(half, folder) for half in packages.HALVES}
    packages.chart(number, folder)
    for half in packages.HALVES:
        packages.bill(half, number, folder)
    sums(folder)
    return wheels


def images(number: str, folder: pathlib.Path) -> int:
    """Build the images from the pinned base, and list their IDs. Return the status of `make`."""
    base = (packages.ROOT / "images/base.txt").read_text(encoding="utf-8").strip()
    with tempfile.TemporaryDirectory(prefix="capstan-dist-") as ids:
        words = ("make", "images", f"TAG={number}", f"BASE={base}", f"IDS={ids}")
        status = subprocess.run(words, cwd=packages.ROOT, check=False).returncode
        lines = [
            f"docker.io/capstan/{path.name}:{number} {path.read_text(encoding='utf-8').strip()}\n"
            for path in sorted(pathlib.Path(ids).iterdir())
        ]
    (folder / "images.txt").write_text("".join([f"base {base}\n", *lines]), encoding="utf-8")
    return status


def main() -> int:
    """Build and try a release. Return the exit status."""
    if problems := list(version.wrong()):
        print("dist: the versions differ: run `release/version.py VERSION`", *problems, sep="\n")
        return 1
    number = version.current()
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    wheels = write(DIST, number)
    for half, wheel in wheels.items():
        print(f"dist: trying {wheel.name} in an environment of its own", flush=True)
        with tempfile.TemporaryDirectory(prefix="capstan-dist-") as folder:
            programs = install(half, wheel, pathlib.Path(folder))
            print(try_out(half, programs, number).strip())
    print("dist:", *sorted(path.name for path in DIST.iterdir()), sep="\n  ")
    return images(number, DIST)


if __name__ == "__main__":
    sys.exit(main())
