"""`tf.gfile` and `tf.io.gfile` do what they do in TensorFlow, with the same errors."""

import operator
import pathlib
from collections.abc import Callable
from typing import Any

import genuine
import pytest

import capstan

pytestmark = genuine.MARKS

Call = Callable[[Any, str], Any]


def written(gfile: Any, name: str, mode: str, *texts: Any) -> None:
    with gfile.GFile(name, mode) as file:
        for text in texts:
            file.write(text)


def lines(gfile: Any, name: str) -> list[Any]:
    file = gfile.Open(name)
    found = [file.readline(), file.tell(), file.read(2), file.size(), *list(file)]
    file.seek(1)
    found += [file.read(1), file.seek(offset=-2, whence=2), file.readlines(), file.readline()]
    file.close()
    return found


CALLS: list[Call] = [
    lambda g, at: g.MkDir(f"{at}/a"),
    lambda g, at: g.MkDir(f"{at}/a"),
    lambda g, at: g.MkDir(f"{at}/x/y"),
    lambda g, at: g.MakeDirs(f"{at}/b/c/d"),
    lambda g, at: g.MakeDirs(f"{at}/b/c/d"),
    lambda g, at: written(g, f"{at}/a/1.txt", "w", "one\ntwo\n", "three\n"),
    lambda g, at: written(g, f"{at}/a/1.txt", "a", b"four"),
    lambda g, at: written(g, f"{at}/x/y", "w", "text"),
    lambda g, at: written(g, f"{at}/a/2.txt", "r", "text"),
    lambda g, at: g.GFile(f"{at}/a/1.txt", "w").read(),
    lambda g, at: g.GFile(f"{at}/a/1.txt", "x"),
    lambda g, at: lines(g, f"{at}/a/1.txt"),
    lambda g, at: g.GFile(f"{at}/a/1.txt", "rb").read(4),
    lambda g, at: g.GFile(f"{at}/none").read(),
    lambda g, at: g.GFile(f"{at}/a/1.txt").seek(),
    lambda g, at: g.GFile(f"{at}/a/1.txt").seek(0, whence=7),
    lambda g, at: g.FastGFile(f"{at}/a/1.txt", "rb").readlines(),
    lambda g, at: g.Stat(f"{at}/a/1.txt").length,
    lambda g, at: g.Stat(f"{at}/a").is_directory,
    lambda g, at: g.Stat(f"{at}/none"),
    lambda g, at: [g.Exists(f"{at}/{name}") for name in ("a", "a/1.txt", "none")],
    lambda g, at: [g.IsDirectory(f"{at}/{name}") for name in ("a", "a/1.txt", "none")],
    lambda g, at: g.Copy(f"{at}/a/1.txt", f"{at}/b/2.txt"),
    lambda g, at: g.Copy(f"{at}/a/1.txt", f"{at}/b/2.txt"),
    lambda g, at: g.Copy(f"{at}/a/1.txt", f"{at}/b/2.txt", overwrite=True),
    lambda g, at: g.Copy(f"{at}/none", f"{at}/b/3.txt"),
    lambda g, at: g.Rename(f"{at}/b/2.txt", f"{at}/a/1.txt"),
    lambda g, at: g.Rename(f"{at}/b/2.txt", f"{at}/b/3.txt"),
    lambda g, at: g.Rename(f"{at}/none", f"{at}/b/4.txt"),
    lambda g, at: sorted(g.Glob(f"{at}/*/[0-9].txt")),
    lambda g, at: sorted(g.Glob([f"{at}/a/*", f"{at}/none*"])),
    lambda g, at: sorted(g.ListDirectory(at)),
    lambda g, at: g.ListDirectory(f"{at}/none"),
    lambda g, at: sorted((top, sorted(a), sorted(b)) for top, a, b in g.Walk(at)),
    lambda g, at: [top for top, _, _ in g.Walk(f"{at}/b", in_order=False)],
    lambda g, at: list(g.Walk(f"{at}/none")),
    lambda g, at: g.Remove(f"{at}/b/3.txt"),
    lambda g, at: g.Remove(f"{at}/b/3.txt"),
    lambda g, at: g.DeleteRecursively(f"{at}/b"),
    lambda g, at: g.DeleteRecursively(f"{at}/b"),
    lambda g, at: g.Exists(f"{at}/b"),
    lambda g, at: g.GFile("nfs7://a/b").read(),
]


NEW_CALLS: list[Call] = [
    lambda g, at: g.mkdir(path=f"{at}/a"),
    lambda g, at: g.makedirs(path=f"{at}/b/c"),
    lambda g, at: written(g, f"{at}/a/1.txt", "w", "one"),
    lambda g, at: g.copy(src=f"{at}/a/1.txt", dst=f"{at}/a/2.txt"),
    lambda g, at: g.copy(src=f"{at}/a/1.txt", dst=f"{at}/a/2.txt", overwrite=False),
    lambda g, at: g.rename(src=f"{at}/a/2.txt", dst=f"{at}/a/3.txt", overwrite=True),
    lambda g, at: [g.exists(path=f"{at}/a/{name}.txt") for name in (2, 3)],
    lambda g, at: sorted(g.glob(pattern=f"{at}/*/*.txt")),
    lambda g, at: [g.isdir(path=f"{at}/{name}") for name in ("b", "a/1.txt")],
    lambda g, at: sorted(g.listdir(path=f"{at}/a")),
    lambda g, at: g.stat(path=f"{at}/a/1.txt").length,
    lambda g, at: g.remove(path=f"{at}/a/1.txt"),
    lambda g, at: g.remove(path=f"{at}/a/1.txt"),
    lambda g, at: g.rmtree(path=f"{at}/a"),
    lambda g, at: [top for top, _, _ in g.walk(top=at, topdown=False)],
]


def outcomes(gfile: Any, calls: list[Call], folder: pathlib.Path) -> list[Any]:
    folder.mkdir()
    found: list[Any] = []
    for call in calls:
        try:
            found.append(repr(call(gfile, str(folder))).replace(str(folder), "AT"))
        except Exception as error:  # noqa: BLE001 - the errors are compared
            message = getattr(error, "message", str(error)).replace(str(folder), "AT")
            found.append((type(error).__name__, message.partition(". Install")[0]))
    return found


@pytest.mark.parametrize(
    ("name", "calls"), [("gfile", CALLS), ("io.gfile", NEW_CALLS)], ids=["old", "new"]
)
def test_files_are_the_same(v1: Any, name: str, calls: list[Call], tmp_path: pathlib.Path) -> None:
    find = operator.attrgetter(name)
    expected = outcomes(find(v1), calls, tmp_path / "theirs")
    found = outcomes(find(capstan), calls, tmp_path / "ours")
    for number, pair in enumerate(zip(found, expected, strict=True)):
        assert pair[0] == pair[1], f"call {number}"


def test_a_walk_tells_its_error() -> None:
    faults: list[Any] = []
    assert list(capstan.io.gfile.walk("/none", onerror=faults.append)) == []
    assert isinstance(faults[0], capstan.errors.NotFoundError)
