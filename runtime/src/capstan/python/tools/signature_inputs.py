"""The inputs that the flags of `saved_model_cli run` name: files, expressions and examples."""

import ast
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from capstan.api import logging
from capstan.core import example_messages
from capstan.resources import files


def preprocess_inputs_arg_string(inputs_str: str) -> dict[str, tuple[str, str | None]]:
    """Return the file of each input, and the name of the array in the file or None.

    Semicolons separate the inputs.

    >>> preprocess_inputs_arg_string("x=a.npz[images];y=b.npy")
    {'x': ('a.npz', 'images'), 'y': ('b.npy', None)}

    Raises:
        RuntimeError: an input is of another form.
    """
    found = {}
    for each in filter(None, inputs_str.split(";")):
        parts = re.fullmatch(r"([^=]+)=([^\[\]]+)(?:\[([^\[\]]+)\])?", each)
        if parts is None:
            raise RuntimeError(
                f'--inputs "{each}" format is incorrect. Please follow "<input_key>=<filename>", '
                'or "<input_key>=<filename>[<variable_name>]"'
            )
        found[parts[1]] = (parts[2], parts[3])
    return found


def preprocess_input_exprs_arg_string(input_exprs_str: str) -> dict[str, Any]:
    """Return the values of expressions of Python, in which `np` is NumPy.

    >>> preprocess_input_exprs_arg_string("x=[1] * 3;y=np.zeros(2).tolist()")
    {'x': [1, 1, 1], 'y': [0.0, 0.0]}

    Raises:
        RuntimeError: an input has no equals sign.
    """
    return {
        key: eval(text, {"np": np, "numpy": np})  # the expression of the user of the command
        for key, text in _assignments("--input_exprs", input_exprs_str, "<python expression>")
    }


def preprocess_input_examples_arg_string(input_examples_str: str) -> dict[str, list[bytes]]:
    """Return the serialized `tf.train.Example` messages of inputs that are lists of dictionaries.

    A dictionary has a list of numbers or strings for each feature. The lists are literals.

    Raises:
        RuntimeError: an input has no equals sign.
        ValueError: an input is not of this form.
    """
    form = "<[{feature:value list}]>"
    found = {}
    for key, text in _assignments("--input_examples", input_examples_str, form):
        rows = ast.literal_eval(text.strip())
        if not isinstance(rows, list):
            raise ValueError(  # noqa: TRY004, as in TensorFlow
                f'tf.Example input must be a list of dictionaries, but "{rows}" is {type(rows)}'
            )
        found[key] = [_example(row) for row in rows]
    return found


def load_inputs_from_input_arg_string(
    inputs_str: str, input_exprs_str: str, input_examples_str: str
) -> dict[str, Any]:
    """Return the values of inputs by their keys. Examples win over expressions, these over files.

    A file holds one array (`.npy`), several (`.npz`), or a pickle.

    Raises:
        RuntimeError: a flag is of another form, or a file lacks the array, or has several of which
            none is named.
        ValueError: an example is not of the form that it should have.
    """
    chosen = preprocess_inputs_arg_string(inputs_str)
    values = {key: _loaded(path, name) for key, (path, name) in chosen.items()}
    for flag, more in (
        ("--input_exprs", preprocess_input_exprs_arg_string(input_exprs_str)),
        ("--input_examples", preprocess_input_examples_arg_string(input_examples_str)),
    ):
        for key in values.keys() & more.keys():
            logging.warning("input_key %s has several values. The value of %s counts.", key, flag)
        values.update(more)
    return values


def _assignments(flag: str, text: str, form: str) -> list[tuple[str, str]]:
    found = []
    for each in filter(None, text.split(";")):
        key, equals, value = each.partition("=")
        if not equals:
            raise RuntimeError(
                f'{flag} "{text}" format is incorrect. Please follow "<input_key>={form}"'
            )
        found.append((key, value))
    return found


def _loaded(path: str, name: str | None) -> Any:
    with files.open_file(path) as content:
        data = np.load(content, allow_pickle=True)
        if isinstance(data, np.ndarray):
            if name:
                logging.warning("Input file %s has one array. Name %s is ignored.", path, name)
            return data
        if name:
            if name not in data:
                raise RuntimeError(
                    f'Input file {path} does not contain variable with name "{name}".'
                )
            return data[name]
        if not isinstance(data, np.lib.npyio.NpzFile):
            return data
        if len(data.files) != 1:
            raise RuntimeError(
                f"Input file {path} contains more than one ndarrays. Please specify the name of "
                f"ndarray to use: {data.files}"
            )
        return data[data.files[0]]


def _example(row: Mapping[str, Any]) -> bytes:
    message = example_messages.Example()
    for name, values in row.items():
        if not isinstance(values, list):
            raise ValueError(  # noqa: TRY004, as in TensorFlow
                f'feature value must be a list, but {name}: "{values}" is {type(values)}'
            )
        feature, first = message.features.feature[name], values[0]
        if isinstance(first, float):
            feature.float_list.value.extend(values)
        elif isinstance(first, str | bytes):
            texts = (value.encode() if isinstance(value, str) else value for value in values)
            feature.bytes_list.value.extend(texts)
        elif isinstance(first, int):
            feature.int64_list.value.extend(values)
        else:
            raise ValueError(  # noqa: TRY004, as in TensorFlow
                f"Type {type(first)} for value {first} is not supported for tf.train.Feature."
            )
    content: bytes = message.SerializeToString()
    return content
