"""Whole and damaged CSV files, read by datasets of TensorFlow's own client."""

from pathlib import Path
from typing import Any

import genuine
import pytest

pytestmark = genuine.MARKS

S: list[Any] = ["string"]
"""The default of a required column of strings."""

FILES: dict[str, tuple[str, list[Any], dict[str, Any]]] = {
    "too few and too many fields": ("a,b\nc\nd,e,f\ng,h\n", S * 2, {}),
    "empty lines": ("a\n\n\nb\n", [[b"x"]], {}),
    "a missing column that is chosen": ("a\nb,c\n", [[b"x"]], {"select_cols": [1]}),
    "all kinds of line breaks": ("a\r\nb\r\rc\n\rd", [[b"x"]], {}),
    "an empty last field": ("a,b\na,", [[b"x"], [b"y"]], {}),
    "a quote in a plain field": ('a"b,c\nd,e\n', S * 2, {}),
    "a quote without meaning": ('a"b,c\nd,e\n', S * 2, {"use_quote_delim": False}),
    "a stray quote in a quoted field": ('"a"b,c\nd,e\n"f","g"\nh,i\n', S * 2, {}),
    "a stray quote at the end": ('a,"b" ,c\n"x","y","z"\n', S * 3, {}),
    "doubled quotes": ('"a""b","""c"""\n"",d\n', [[b"x"], [b"y"]], {}),
    "stray and doubled quotes": ('"a"b""c",d\n"a""",e\n', S * 2, {}),
    "no closing quote": ('1,2,"q\n3,4,5\n', ["int32"], {"select_cols": [0]}),
    "a damaged field that is not chosen": ('1,x,"a"b"\n3,4,5\n', ["int32"], {"select_cols": [0]}),
    "a wrong number before a quote": ('x,y"z\n1,2\n', ["int32", "int32"], {}),
    "line breaks in quotes": ('"a\nb\r\n\r","c"\r\n"d",e', S * 2, {}),
    "values that are not there": ('NA,1\n"NA",NA\n', ["int32", [6]], {"na_value": "NA"}),
    "a header of several lines": ('a,"b\nc"\n1,2\n', S * 2, {"header": True}),
    "a header with a quote": ('a"b,c\n1,2\n', S * 2, {"header": True}),
    "a header with a stray quote": ('"a"b,c\n1,2\n', S * 2, {"header": True}),
    "no header": ("", S, {"header": True}),
    "another delimiter": ('a|"b|c"|d,e\n', S * 3, {"field_delim": "|"}),
}


def outcomes(tf: Any, path: Path, defaults: list[Any], options: Any, target: str) -> list[Any]:
    """Return the elements and the messages of the errors, up to the end of the dataset."""
    v1, found = tf.compat.v1, []
    types = [getattr(tf, each) if isinstance(each, str) else each for each in defaults]
    with v1.Graph().as_default(), v1.Session(target) as session:
        with v1.device("/job:worker/task:0" if target else ""):
            dataset = v1.data.experimental.CsvDataset([str(path)] * 2, types, **options)
            element = v1.data.make_one_shot_iterator(dataset).get_next()
        while "end" not in found:
            try:
                found.append(session.run(element))
            except v1.errors.OutOfRangeError:
                found.append("end")
            except v1.errors.InvalidArgumentError as error:
                found.append(_cause(error.message))
    return found


def _cause(message: str) -> str:
    """Return the line of a message before the name of the node."""
    return message.partition("\n\t [[{{node")[0].splitlines()[-1]


@pytest.mark.parametrize("name", FILES)
def test_a_csv_file_has_the_records_and_the_errors_of_tensorflow(
    tf: Any, tasks: genuine.Tasks, tmp_path: Path, name: str
) -> None:
    content, defaults, options = FILES[name]
    path = tmp_path / "file.csv"
    path.write_bytes(content.encode())
    expected = outcomes(tf, path, defaults, options, "")
    assert outcomes(tf, path, defaults, options, tasks.target()) == expected
    assert len(expected) > 1
