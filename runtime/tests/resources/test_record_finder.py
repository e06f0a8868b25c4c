"""Records of TFRecord files are found and checked alike with and without the compiled loop."""

import io
from collections.abc import Callable

import examples
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capstan import errors
from capstan.core import tfrecord
from capstan.resources import record_finder

_LARGE = 1 << 28


def compiled() -> record_finder.Finder:
    finder = record_finder.Finder()
    finder._loop.after(_LARGE)
    assert finder._loop.after(0) is not None
    return finder


FINDERS: dict[str, Callable[[], tfrecord.Find]] = {
    "Python": lambda: tfrecord.find,
    "compiled": compiled,
}


@pytest.fixture(scope="module", params=FINDERS)
def find(request: pytest.FixtureRequest) -> tfrecord.Find:
    return FINDERS[request.param]()


def written(*contents: bytes) -> bytes:
    return b"".join(map(tfrecord.encode, contents))


def read(data: bytes, find: tfrecord.Find) -> tuple[list[bytes], str]:
    """Return the records of a file, and the message of the error after them."""
    found: list[bytes] = []
    try:
        found += tfrecord.records(io.BytesIO(data).read, find)
    except errors.DataLossError as error:
        return found, error.message
    return found, ""


@given(st.lists(st.binary(max_size=70), max_size=8), st.integers(0, 700), st.data())
@settings(max_examples=examples.share(150))
def test_both_find_the_same_records_and_damages(
    contents: list[bytes], length: int, data: st.DataObject
) -> None:
    file = bytearray(written(*contents)[:length])
    if file and data.draw(st.booleans()):
        file[data.draw(st.integers(0, len(file) - 1))] ^= data.draw(st.integers(1, 255))
    results = [read(bytes(file), make()) for make in FINDERS.values()]
    assert results[0] == results[1]
    found, _ = results[0]
    if bytes(file) == written(*contents):
        assert results[0] == (contents, "")
    assert found == contents[: len(found)]


SIZES = [0, 1, 7, 8, 9, 1000, (1 << 18) - 16, (1 << 18) - 15, 1 << 19]


def test_records_of_all_sizes_are_found(find: tfrecord.Find) -> None:
    contents = [bytes([size % 251]) * size for size in SIZES] * 2
    assert read(written(*contents), find) == (contents, "")


@pytest.mark.parametrize("size", SIZES[1:])
def test_a_damaged_record_is_named_and_those_before_it_are_read(
    find: tfrecord.Find, size: int
) -> None:
    before = [b"one", b"other" * 30]
    start = len(written(*before))
    data = bytearray(written(*before, bytes(size), b"after"))
    data[start + tfrecord.HEADER_SIZE + size - 1] ^= 1
    assert read(bytes(data), find) == (
        before,
        f"corrupted record at {start + tfrecord.HEADER_SIZE}",
    )


@pytest.mark.parametrize("place", [0, 7, 8, 11])
def test_a_damaged_length_is_named(find: tfrecord.Find, place: int) -> None:
    start = len(written(b"one"))
    data = bytearray(written(b"one", b"other", b"after"))
    data[start + place] ^= 0x80
    assert read(bytes(data), find) == ([b"one"], f"corrupted record at {start}")


@pytest.mark.parametrize("left", [1, 11, 12, 13, 16, 20])
def test_a_file_that_ends_in_a_record_is_truncated(find: tfrecord.Find, left: int) -> None:
    start = len(written(b"one"))
    data = written(b"one", b"other")[: start + left]
    assert read(data, find) == ([b"one"], f"truncated record at {start}")


@pytest.mark.parametrize("length", [1 << 40, 1 << 63, (1 << 64) - 16])
def test_a_length_beyond_all_files_is_truncated(find: tfrecord.Find, length: int) -> None:
    header = length.to_bytes(8, "little")
    header += tfrecord.encode(header)[-4:]
    data = written(b"one") + header + bytes(40)
    assert read(data, find) == ([b"one"], f"truncated record at {len(written(b'one'))}")


def test_a_file_that_grows_is_read_on() -> None:
    file = io.BytesIO(written(b"one"))
    records = tfrecord.records(file.read)
    assert next(records) == b"one"
    place = file.tell()
    file.write(written(b"other"))
    file.seek(place)
    assert list(records) == [b"other"]


def test_the_loop_is_compiled_after_some_megabytes() -> None:
    finder, data = record_finder.Finder(), written(*[bytes(500)] * 500)
    calls = 0
    while finder._loop.after(0) is None:
        finder(data)
        calls += 1
    assert 1 < calls < 100
    assert finder(data) == tfrecord.find(data)
