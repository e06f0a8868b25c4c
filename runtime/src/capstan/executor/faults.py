"""Turn what a kernel raised into the error that TensorFlow's user knows, with its node."""

import re
from types import TracebackType

import numpy as np

from capstan import errors
from capstan.executor import source

_SHAPES = re.compile(r"shapes? (\([\d, ]*\)) (\([\d, ]*\))")


def blame(fault: Exception, code: source.Code, filename: str) -> errors.OpError:
    """Return the step's error: class by what was raised, node by the line that ran."""
    name = _node_at(fault.__traceback__, code, filename)
    translated = fault if isinstance(fault, errors.OpError) else _translate(fault)
    if name is None:
        return translated
    message = translated.message
    if "{{node" not in message:
        message += f"\n\t [[{{{{node {name}}}}}]]"
    return errors.from_code(translated.error_code, message)


def _node_at(trace: TracebackType | None, code: source.Code, filename: str) -> str | None:
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == filename:
            return code.lines.get(trace.tb_lineno)
        trace = trace.tb_next
    return None


def _translate(fault: Exception) -> errors.OpError:
    text = str(fault)
    if isinstance(fault, MemoryError):
        return errors.ResourceExhaustedError(None, None, f"OOM when allocating tensor: {text}")
    if isinstance(fault, ZeroDivisionError):
        return errors.InvalidArgumentError(None, None, "Integer division by zero")
    if isinstance(fault, ValueError | TypeError | IndexError | np.exceptions.AxisError):
        return errors.InvalidArgumentError(None, None, _shapes_in_words(text))
    return errors.InternalError(None, None, f"{type(fault).__name__}: {text}")


def _shapes_in_words(text: str) -> str:
    """NumPy's broadcasting complaint in TensorFlow's words."""
    found = _SHAPES.search(text)
    if found is None or "broadcast" not in text:
        return text
    one, other = (shape.strip("()").replace(" ", "").rstrip(",") for shape in found.groups())
    return f"Incompatible shapes: [{one}] vs. [{other}]"
