"""`tf.print` and `tf.strings.format` (python/ops/logging_ops.py, string_ops.py)."""

import logging as standard
import os
import pprint
import sys
from typing import Any

from capstan.api import logging
from capstan.framework import graph as graphs
from capstan.framework import nest
from capstan.framework.raw import raw
from capstan.framework.sparse_tensor import SparseTensor

__all__ = ["print", "string_format", "timestamp"]


def timestamp(name: str | None = None) -> graphs.Tensor:
    """Return the seconds since 1970 at which the step runs the operation, as a float64 scalar."""
    seconds: graphs.Tensor = raw.Timestamp(name=name)
    return seconds


def string_format(
    template: str,
    inputs: Any,
    placeholder: str = "{}",
    summarize: int = 3,
    name: str | None = None,
) -> graphs.Tensor:
    """Return `template` with a tensor in the place of each placeholder, a string scalar.

    Of each axis, the first and the last `summarize` elements are shown, or all if it is -1.

    Raises:
        ValueError: there are more placeholders than tensors, or fewer.
    """
    tensors = [inputs] if isinstance(inputs, graphs.Tensor) else list(inputs)
    if template.count(placeholder) != len(tensors):
        raise ValueError(
            f"The template expects {template.count(placeholder)} tensors, but the inputs only has "
            f"{len(tensors)}. Please ensure the number of placeholders in template matches inputs "
            "length."
        )
    text: graphs.Tensor = raw.StringFormat(
        tensors, template=template, placeholder=placeholder, summarize=summarize, name=name
    )
    return text


def print(
    *inputs: Any,
    output_stream: Any = None,
    name: str | None = None,
    summarize: int = 3,
    sep: str = " ",
    end: str = os.linesep,
    **unknown: Any,
) -> graphs.Operation:
    """Return an operation that writes tensors and Python values.

    The task that runs the operation writes the text to `output_stream`: `sys.stderr` (the default),
    `sys.stdout`, a function or level of `tf.logging`, or the file of a name like `file:///tmp/log`,
    at its end. Of each axis, the first and the last `summarize` elements are shown, or all if it
    is -1.

    Raises:
        ValueError: the stream is unknown, or there are other keyword arguments.
    """
    if unknown:
        raise ValueError(f"Unrecognized keyword arguments for tf.print: {unknown}")
    stream = _stream(sys.stderr if output_stream is None else output_stream)
    only = inputs[0] if len(inputs) == 1 else None
    if isinstance(only, graphs.Tensor) and only.shape.ndims == 0 and _is_text(only):
        text = only
    else:
        template, tensors, placeholder = _template(inputs, sep)
        format_name = f"{name}_format" if name else None
        text = string_format(template, tensors, placeholder, summarize, format_name)
    write: graphs.Operation = raw.PrintV2(text, output_stream=stream, end=end, name=name)
    return write


def _is_text(tensor: graphs.Tensor) -> bool:
    return bool(tensor.dtype.name == "string")


def _stream(given: Any) -> str:
    if isinstance(given, str) and given.startswith("file://"):
        return given
    functions = {
        "log(info)": (logging.info, standard.info, logging.INFO),
        "log(warning)": (logging.warning, standard.warning, logging.WARN),
        "log(error)": (logging.error, standard.error, logging.ERROR),
        "stdout": (sys.stdout,),
        "stderr": (sys.stderr,),
    }
    for stream, names in functions.items():
        if any(given is each for each in names):
            return stream
    raise ValueError(
        f"Unsupported output stream, logging level, or file.{given}. Supported streams are "
        "sys.stdout, sys.stderr, tf.logging.info, tf.logging.warning, tf.logging.error. File needs "
        "to be in the form of 'file://<filepath>'."
    )


def _template(inputs: Any, sep: str) -> tuple[str, list[Any], str]:
    """Return the text with a placeholder for each tensor, the tensors, and the placeholder."""
    constant = " ".join(
        pprint.pformat(nest.mapped(lambda leaf: "" if _is_tensor(leaf) else leaf, each))
        for each in inputs
    )
    placeholder = "{}"
    while placeholder in constant:
        placeholder = "{" + placeholder + "}"
    tensors: list[Any] = []

    def replaced(leaf: Any) -> Any:
        if isinstance(leaf, SparseTensor):
            tensors.extend([leaf.indices, leaf.values, leaf.dense_shape])
            parts = f"indices={placeholder}, values={placeholder}, shape={placeholder}"
            return f"SparseTensor({parts})"
        if isinstance(leaf, graphs.Tensor) or _is_variable(leaf):
            tensors.append(leaf)
            return placeholder
        return leaf

    texts = []
    for each in inputs:
        packed = nest.mapped(replaced, each)
        texts.append(each if isinstance(each, str) else pprint.pformat(packed))
    return sep.join(texts).replace(f"'{placeholder}'", placeholder), tensors, placeholder


def _is_variable(leaf: Any) -> bool:
    return hasattr(leaf, "read_value")


def _is_tensor(leaf: Any) -> bool:
    return isinstance(leaf, graphs.Tensor | SparseTensor) or _is_variable(leaf)
