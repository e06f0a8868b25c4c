"""The Python names of `import capstan as tf` as Markdown, beside those of TensorFlow 1.15.

`tensorflow_names.txt` has the names of TensorFlow: a line for each module, and indented lines with
the names in it. TensorFlow's own list does not describe `tf.contrib`, so those sections have no
line of missing names.
"""

import importlib
import operator
import pathlib
from collections.abc import Collection, Iterator, Mapping
from types import ModuleType
from typing import Any

TENSORFLOW = pathlib.Path(__file__).with_name("tensorflow_names.txt")


def sections(_: str) -> str:
    """Return a section for each module of TensorFlow that Capstan has: the names that Capstan has,
    and those that it lacks.
    """
    tf = importlib.import_module("capstan")
    listed = _listed()
    lines: list[str] = []
    for path, expected in listed.items():
        module = _find(tf, path)
        if isinstance(module, ModuleType):
            present = {name for name in expected if hasattr(module, name)}
            lines += _section(path, present, set(expected) - present)
    for name in dir(tf.contrib):
        lines += _section(f"tf.contrib.{name}", _public(getattr(tf.contrib, name)), ())
    return "\n".join(lines)


def _listed() -> Mapping[str, Collection[str]]:
    """Return TensorFlow's names by module."""
    found: dict[str, list[str]] = {}
    path = ""
    for line in TENSORFLOW.read_text(encoding="utf-8").splitlines():
        if line.startswith(" "):
            found[path] += line.split()
        elif not line.startswith("#"):
            path = line
            found[path] = []
    return found


def _find(tf: Any, path: str) -> Any:
    """Return the module of a path such as `tf.nn.rnn_cell`, or None."""
    if path == "tf":
        return tf
    try:
        return operator.attrgetter(path.removeprefix("tf."))(tf)
    except AttributeError:
        return None


def _public(module: ModuleType) -> set[str]:
    public = importlib.import_module("capstan.core.public")
    return {*(dir(module) if "__dir__" in vars(module) else public.names(vars(module)))}


def _section(path: str, present: Collection[str], missing: Collection[str]) -> Iterator[str]:
    yield from (f"## {path}", "", ", ".join(f"`{name}`" for name in sorted(present)), "")
    if missing:
        yield from (f"Missing: {', '.join(f'`{name}`' for name in sorted(missing))}", "")
