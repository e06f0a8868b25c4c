"""The version of Capstan. The file VERSION holds it, and every other file repeats it.

version.py            show the version, and exit 1 if a file has another one
version.py 0.2.0      write a new version to VERSION and to all files that repeat it
"""

import pathlib
import re
import sys
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = ROOT / "VERSION"

_NUMBER = r"\d+\.\d+\.\d+"
PLACES = {
    "runtime/pyproject.toml": r'(?m)^version = "(N)"$',
    "runtime/src/capstan/core/release.py": r'(?m)^VERSION: Final = "(N)"$',
    "operator/pyproject.toml": r'(?m)^version = "(N)"$',
    "charts/capstan/Chart.yaml": r'(?m)^(?:version|appVersion): "?(N)"?$',
    "docs/releasing.md": r"capstan(?:_operator)?-(N)\b|/capstan/[a-z]+:(N)\b",
    "CHANGELOG.md": r"(?m)\A(?:(?!^## ).*\n)*^## (N)\b",
}
"""The files that repeat the version, each with a pattern of all places in it."""


def current() -> str:
    """Return the version of this tree."""
    return SOURCE.read_text(encoding="utf-8").strip()


def repeated(path: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield the beginning and the end of each place in a file that repeats the version."""
    for match in re.finditer(PLACES[path].replace("(N)", f"({_NUMBER})"), text):
        yield from (span for span in match.regs[1:] if span[0] >= 0)


def wrong() -> Iterator[str]:
    """Yield a line for each file that has another version, or no version."""
    version = current()
    for path in PLACES:
        text = (ROOT / path).read_text(encoding="utf-8")
        found = {text[begin:end] for begin, end in repeated(path, text)}
        if found != {version}:
            listed = ", ".join(sorted(found)) or "no version"
            yield f"{path} has {listed}, and VERSION has {version}"


def write(version: str) -> None:
    """Write a new version to VERSION and to all files that repeat it."""
    for path in PLACES:
        file = ROOT / path
        text = file.read_text(encoding="utf-8")
        for begin, end in reversed(list(repeated(path, text))):
            text = text[:begin] + version + text[end:]
        file.write_text(text, encoding="utf-8")
    SOURCE.write_text(f"{version}\n", encoding="utf-8")


def main() -> int:
    """Show, check or write the version. Return the exit status."""
    if sys.argv[1:]:
        version = sys.argv[1]
        if not re.fullmatch(_NUMBER, version):
            print(f"{version} is not a version: write it as 1.2.3", file=sys.stderr)
            return 2
        write(version)
    print(current())
    problems = list(wrong())
    print(*problems, sep="\n", end="\n" if problems else "", file=sys.stderr)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
