"""The folder of a job belongs to one run at a time. A new run keeps the checkpoints."""

import errno
import fcntl
import os
import shutil
from pathlib import Path

import pytest

from capstan_operator.errors import Invalid
from capstan_operator.local import folder


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".capstan" / "digits"


def test_a_folder_is_claimed_once(path: Path) -> None:
    first = folder.claim(path)
    with pytest.raises(Invalid, match=rf"another capstanctl \(process {os.getpid()}\)"):
        folder.claim(path)
    first.close()
    folder.claim(path).close()


def test_a_folder_that_is_deleted_while_it_is_claimed_is_made_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise two processes could run the job, each with the lock of another file."""
    take, left = folder._locked, [True]

    def delete_first(lock: int) -> bool:
        if left:
            left.clear()
            shutil.rmtree(path)
        return take(lock)

    monkeypatch.setattr(folder, "_locked", delete_first)
    claimed = folder.claim(path)
    assert folder.is_held(path)
    with pytest.raises(Invalid, match="is run by another capstanctl"):
        folder.claim(path)
    claimed.close()


def test_a_file_system_without_locks_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(Invalid, match=r"cannot lock .*: No locks available; run capstanctl"):
        folder.claim(path)
    assert not folder.is_held(path)


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Invalid, match=r"cannot keep its state in .*: Not a directory"):
        folder.claim(tmp_path / "file" / "digits")


@pytest.fixture
def claimed(path: Path) -> folder.Folder:
    claimed = folder.claim(path)
    claimed.close()
    return claimed


def test_a_status_is_replaced_and_never_half_written(claimed: folder.Folder) -> None:
    assert claimed.read_status() is None
    claimed.write_status("one")
    with claimed.status.open() as reader:
        claimed.write_status("two")
        assert reader.read() == "one"
    assert claimed.read_status() == "two"


def test_clearing_removes_the_last_run_and_keeps_checkpoints(claimed: folder.Folder) -> None:
    claimed.begin()
    kept = claimed.checkpoints / "model.ckpt-7.index"
    gone = (claimed.status, claimed.log("ps-0", 3), claimed.progress("worker-0"))
    for file in (kept, *gone):
        file.touch()
    claimed.clear()
    assert kept.exists()
    assert not any(file.exists() for file in gone)


def test_checkpoints_set_aside_are_kept(claimed: folder.Folder) -> None:
    claimed.begin()
    (claimed.checkpoints / "checkpoint").write_text("7")
    aside = claimed.set_checkpoints_aside("yesterday")
    claimed.begin()
    assert aside is not None
    assert (aside / "checkpoint").read_text() == "7"
    assert list(claimed.checkpoints.iterdir()) == []


def test_nothing_is_set_aside_without_checkpoints(claimed: folder.Folder) -> None:
    assert claimed.set_checkpoints_aside("yesterday") is None
    claimed.begin()
    assert claimed.set_checkpoints_aside("yesterday") is None
    assert claimed.checkpoints.is_dir()


@pytest.mark.parametrize(
    "log, words",
    [
        (b"", ""),
        (b"\n \n", ""),
        (b"Traceback:\nValueError: no\n\n", "ValueError: no"),
        (b"InternalError: no\n\t[[{{node Add}}]]\n", "InternalError: no"),
        (b"  all\n  of it\n\x00\n", "of it"),
        (b"no end of line", "no end of line"),
        (b"\x1b[31mred\x1b[0m\n", "red"),
        (b"\x1b[1;31mValueError:\x1b[0m no\n\x1b[2m  node\x1b[0m\n\x1b[0m\n", "ValueError: no"),
        (b"\x1b]8;;http://a\x1b\\link\x1b]8;;\x07\n", "link"),
        (b"cut \x1b[3", "cut"),
        (b"50%\x1b[K\r100%\x1b[K\r", "100%"),
        (b"caf\xc3\xa9 \xff\n", "café �"),
        (b"long\n" + b"x" * 9000, "x" * 4096),
    ],
)
def test_the_last_words_are_the_last_line_that_is_not_blank(
    claimed: folder.Folder, log: bytes, words: str
) -> None:
    claimed.log("ps-0", 1).write_bytes(log)
    assert claimed.last_words("ps-0", 1) == words


def test_a_log_that_does_not_exist_has_no_last_words(claimed: folder.Folder) -> None:
    assert claimed.last_words("ps-0", 9) == ""
