"""The records of CSV files begin and end where they do in TensorFlow."""

from pathlib import Path
from typing import Any

import genuine
import pytest

import capstan

pytestmark = genuine.MARKS

FILES = {
    "carriage returns": b'a,b\r"c\rd",e\r\rf,g',
    "both line breaks": b'a,b\r\n"c\r\nd",e\r\nf,g\r\n',
    "a quote in a field": b'1,2"3\na,b\n4,"5"6"\nc,d\n',
    "a quote at the end of a field": b'1,2"\na,b\n',
    "escaped quotes": b'"a""",b\n"""",""\n"a"",b","c"\n',
    "a comma after a quote in a field": b'"a"b,c",d\ne,f\n',
    "fields that are empty": b',\n"",""\na,',
    "a quoted field without an end": b'a,b\nc,"d\ne,f\n',
    "an empty file": b"",
    "a line break only": b"\n",
}


def rows(of: Any, name: str, **options: Any) -> list[Any]:
    """Return the rows of a file. An error stands for a row that cannot be read."""
    with of.Graph().as_default(), of.Session() as session:
        table = of.data.experimental.CsvDataset([name], [of.string, of.string], **options)
        following = of.data.make_one_shot_iterator(table).get_next()
        found: list[Any] = []
        for _ in range(9):
            try:
                found.append(session.run(following))
            except of.errors.InvalidArgumentError:
                found.append("invalid")
            except of.errors.OutOfRangeError:
                break
        return found


@pytest.mark.parametrize("options", [{}, {"use_quote_delim": False}], ids=["quotes", "no quotes"])
@pytest.mark.parametrize("content", FILES.values(), ids=FILES.keys())
def test_a_file_has_the_rows_that_it_has_in_tensorflow(
    v1: Any, tmp_path: Path, content: bytes, options: dict[str, Any]
) -> None:
    name = tmp_path / "a.csv"
    name.write_bytes(content)
    assert rows(capstan, str(name), **options) == rows(v1, str(name), **options)


@pytest.mark.parametrize("content", [b"", b"a,b\n", b'"a\nb",c\nd,e\n', b"a,b\rc,d"])
def test_a_header_is_one_record(v1: Any, tmp_path: Path, content: bytes) -> None:
    name = tmp_path / "a.csv"
    name.write_bytes(content)
    first = rows(capstan, str(name), header=True)
    assert first[:1] == rows(v1, str(name), header=True)[:1]
