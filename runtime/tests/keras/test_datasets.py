"""`tf.keras.datasets` reads files of `~/.keras/datasets`, and `get_file` brings them there."""

import gzip
import hashlib
import io
import json
import pathlib
import pickle
import tarfile
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import capstan as tf

keras = tf.keras
datasets = keras.datasets
RANDOM = np.random.RandomState(5)


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> pathlib.Path:
    """The folder `~/.keras/datasets` of a home of the test."""
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / ".keras/datasets"
    folder.mkdir(parents=True)
    return folder


def put(monkeypatch: pytest.MonkeyPatch, path: pathlib.Path, content: bytes, name: str) -> None:
    """Write a file, and let a module expect its hash."""
    path.write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    monkeypatch.setattr(f"capstan.keras.datasets.{name}", digest)


def packed(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def test_digits_are_read(monkeypatch: pytest.MonkeyPatch, home: pathlib.Path) -> None:
    given = {"x_train": np.ones((3, 28, 28), np.uint8), "y_train": np.arange(3),
             "x_test": np.zeros((2, 28, 28), np.uint8), "y_test": np.arange(2)}  # fmt: skip
    put(monkeypatch, home / "mnist.npz", packed(**given), "mnist._HASH")
    (x, y), (x_test, y_test) = datasets.mnist.load_data()
    for array, name in ((x, "x_train"), (y, "y_train"), (x_test, "x_test"), (y_test, "y_test")):
        np.testing.assert_array_equal(array, given[name])


def test_clothes_are_read(home: pathlib.Path) -> None:
    folder = home / "fashion-mnist"
    folder.mkdir()
    for part, count in (("train", 4), ("t10k", 2)):
        images = bytes(16) + bytes(range(count)) * 784
        (folder / f"{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(images))
        labels = bytes(8) + bytes(range(count))
        (folder / f"{part}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(labels))
    (x, y), (x_test, y_test) = datasets.fashion_mnist.load_data()
    assert (x.shape, x_test.shape) == ((4, 28, 28), (2, 28, 28))
    assert (y.tolist(), y_test.tolist()) == ([0, 1, 2, 3], [0, 1])


def batch(count: int, **labels: Any) -> bytes:
    images = RANDOM.randint(0, 256, (count, 3072)).astype(np.uint8)
    named = {"data": images, **labels}
    return pickle.dumps({key.encode(): value for key, value in named.items()})


def test_small_photos_are_read(home: pathlib.Path) -> None:
    folder = home / "cifar-10-batches-py"
    folder.mkdir()
    for name in (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"):
        (folder / name).write_bytes(batch(2, labels=[3, 7]))
    (x, y), (x_test, y_test) = datasets.cifar10.load_data()
    assert (x.shape, y.shape, x_test.shape) == ((10, 32, 32, 3), (10, 1), (2, 32, 32, 3))
    assert (y.dtype, y_test.tolist()) == (np.uint8, [[3], [7]])
    first = pickle.loads((folder / "data_batch_1").read_bytes())[b"data"][0]
    np.testing.assert_array_equal(x[0], first.reshape(3, 32, 32).transpose(1, 2, 0))
    folder = home / "cifar-100-python"
    folder.mkdir()
    for name in ("train", "test"):
        (folder / name).write_bytes(batch(2, fine_labels=[50, 60], coarse_labels=[1, 2]))
    assert datasets.cifar100.load_data()[0][1].tolist() == [[50], [60]]
    assert datasets.cifar100.load_data("coarse")[1][1].tolist() == [[1], [2]]
    with pytest.raises(ValueError, match="label_mode"):
        datasets.cifar100.load_data("other")


def test_prices_are_shuffled_and_parted(
    monkeypatch: pytest.MonkeyPatch, home: pathlib.Path
) -> None:
    x = np.arange(20.0).reshape(10, 2)
    content = packed(x=x, y=x[:, 0])
    put(monkeypatch, home / "boston_housing.npz", content, "boston_housing._HASH")
    (trained, prices), (tested, _) = datasets.boston_housing.load_data()
    assert (len(trained), len(tested)) == (8, 2)
    np.testing.assert_array_equal(trained[:, 0], prices)
    order = np.arange(10)
    np.random.seed(113)
    np.random.shuffle(order)
    np.testing.assert_array_equal(trained, x[order[:8]])
    with pytest.raises(AssertionError, match="test_split"):
        datasets.boston_housing.load_data(test_split=1.0)


def texts(*lengths: int) -> Any:
    rows = np.empty(len(lengths), object)
    rows[:] = [list(range(1, length + 1)) for length in lengths]
    return rows


def test_reviews_are_numbers_of_words(monkeypatch: pytest.MonkeyPatch, home: pathlib.Path) -> None:
    given = {"x_train": texts(2, 5), "y_train": np.array([0, 1]),
             "x_test": texts(3, 4), "y_test": np.array([2, 3])}  # fmt: skip
    put(monkeypatch, home / "imdb.npz", packed(**given), "imdb._HASH")
    (x, y), (x_test, _) = datasets.imdb.load_data(num_words=7, skip_top=5)
    expected = {0: [2, 2, 5], 1: [2, 2, 5, 6, 2, 2]}
    assert dict(zip(y.tolist(), x, strict=True)) == expected
    assert sorted(map(len, x_test)) == [4, 5]
    (x, _), _ = datasets.imdb.load_data(start_char=None, index_from=0, oov_char=None, num_words=3)
    assert all(row == [1, 2] for row in x)
    (x, _), (x_test, _) = datasets.imdb.load_data(maxlen=5)
    assert sorted(map(len, [*x, *x_test])) == [3, 4]
    with pytest.raises(ValueError, match="Increase maxlen"):
        datasets.imdb.load_data(maxlen=2)


def test_news_have_topics(monkeypatch: pytest.MonkeyPatch, home: pathlib.Path) -> None:
    content = packed(x=texts(1, 2, 3, 4, 5), y=np.arange(5))
    put(monkeypatch, home / "reuters.npz", content, "reuters._HASH")
    (x, y), (x_test, y_test) = datasets.reuters.load_data(test_split=0.4)
    assert (len(x), len(x_test)) == (3, 2)
    for row, topic in zip([*x, *x_test], [*y, *y_test], strict=True):
        assert len(row) == topic + 2
    content = json.dumps({"the": 1}).encode()
    put(monkeypatch, home / "reuters_word_index.json", content, "reuters._INDEX_HASH")
    assert datasets.reuters.get_word_index() == {"the": 1}


def test_a_file_is_downloaded_once(tmp_path: pathlib.Path, home: pathlib.Path) -> None:
    source = tmp_path / "source.txt"
    source.write_text("first", encoding="utf-8")
    path = keras.utils.get_file("file.txt", source.as_uri())
    assert path == str(home / "file.txt")
    source.write_text("second", encoding="utf-8")
    keras.utils.get_file("file.txt", source.as_uri())
    assert (home / "file.txt").read_text("utf-8") == "first"
    for digest in (hashlib.md5(b"second", usedforsecurity=False), hashlib.sha256(b"second")):
        (home / "file.txt").write_text("first", encoding="utf-8")
        keras.utils.get_file("file.txt", source.as_uri(), file_hash=digest.hexdigest())
        assert (home / "file.txt").read_text("utf-8") == "second"
    other = tmp_path / "cache"
    path = keras.utils.get_file("a.txt", source.as_uri(), cache_dir=other, cache_subdir="deep")
    assert path == str(other / "deep/a.txt")


def test_a_wrong_download_leaves_no_file(tmp_path: pathlib.Path, home: pathlib.Path) -> None:
    source = tmp_path / "source.txt"
    source.write_text("content", encoding="utf-8")
    with pytest.raises(ValueError, match=r"does not have the hash 0{32}"):
        keras.utils.get_file("file.txt", source.as_uri(), md5_hash="0" * 32)
    with pytest.raises(OSError, match=r"missing.*Download the file by yourself"):
        keras.utils.get_file("file.txt", (tmp_path / "missing").as_uri())
    assert not list(home.iterdir())


def tar(path: pathlib.Path) -> None:
    with tarfile.open(path, "w:gz") as archive:
        entry = tarfile.TarInfo("folder/inner.txt")
        entry.size = 5
        archive.addfile(entry, io.BytesIO(b"inner"))


def zipped(path: pathlib.Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("folder/inner.txt", "inner")


@pytest.mark.parametrize("make", [tar, zipped])
def test_archives_are_unpacked(
    tmp_path: pathlib.Path, home: pathlib.Path, make: Callable[[pathlib.Path], None]
) -> None:
    make(tmp_path / "archive")
    origin = (tmp_path / "archive").as_uri()
    keras.utils.get_file("archive", origin, extract=True, archive_format=None)
    assert not (home / "folder").exists()
    keras.utils.get_file("archive", origin, extract=True)
    assert (home / "folder/inner.txt").read_text("utf-8") == "inner"
    if make is tar:
        path = keras.utils.get_file("folder", origin, untar=True, cache_subdir="other")
        assert (pathlib.Path(path) / "inner.txt").read_text("utf-8") == "inner"
