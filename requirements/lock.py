"""Pin and hash the packages of .venv: read ranges of versions, write exact versions with hashes.

Each purpose has a lock file. The files are solved one after another, each under the pins of the
files before it. All of them therefore fit into one environment on every Python that Capstan
supports. PyTorch has an environment of its own, so its file is solved alone. The files contain
packages and hashes but no index, because each machine configures its own index.
"""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Pairs of ranges and lock file, in the order in which they are solved.
LOCKS = (
    ("requirements/oracle.in", "requirements/oracle.txt"),
    ("runtime/pyproject.toml", "requirements/runtime.txt"),
    ("operator/pyproject.toml", "requirements/operator.txt"),
    ("requirements/cuda.in", "requirements/cuda.txt"),
    ("examples/digits/requirements.in", "examples/digits/requirements.txt"),
    ("requirements/build.in", "requirements/build.txt"),
    ("requirements/dev.in", "requirements/dev.txt"),
    ("requirements/testbed.in", "requirements/testbed.txt"),
)

# PyTorch needs exact versions of CUDA's libraries, which are not those of CuPy.
ALONE = (("requirements/bench-gpu.in", "requirements/bench-gpu.txt"),)

COMPILE = (
    *("pip", "compile", "--quiet", "--universal", "--python-version", "3.11"),
    *("--generate-hashes", "--no-emit-index-url", "--no-emit-find-links"),
)


def main() -> None:
    """Write every lock file again. Arguments go to the solver, for example --upgrade."""
    uv = pathlib.Path(sys.executable).parent / "uv"
    solved: list[str] = []
    for ranges, lock in LOCKS + ALONE:
        print(f"{ranges} -> {lock}", flush=True)
        limits = () if (ranges, lock) in ALONE else solved
        constraints = [part for path in limits for part in ("--constraint", path)]
        subprocess.run(
            [uv, *COMPILE, *constraints, *sys.argv[1:], ranges, "--output-file", lock],
            cwd=ROOT,
            env={**os.environ, "UV_CUSTOM_COMPILE_COMMAND": "make requirements"},
            check=True,
        )
        solved.append(lock)


if __name__ == "__main__":
    main()
