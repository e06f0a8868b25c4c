"""Translate an exception of a kernel into the OpError that TensorFlow raises for the node."""

import itertools
import re
from types import TracebackType

import numpy as np

from capstan import errors
from capstan.core import shapes
from capstan.executor import source

_SHAPES = re.compile(r"shapes?((?: \([\d, ]*\)){2,})")


def blame(fault: Exception, code: source.Code, filename: str) -> errors.OpError:
    """Return the OpError for `fault`. Its message names the node whose line raised it."""
    name = _node_at(fault.__traceback__, code, filename)
    error = translated(fault)
    return error if name is None else named(error, name)


def named(error: errors.OpError, node: str) -> errors.OpError:
    """Return `error` with the name of the node that failed, unless its message names a node."""
    message = error.message
    if "{{node" not in message:
        message += f"\n\t [[{{{{node {node}}}}}]]"
    return errors.from_code(error.error_code, message)


def forget_frames(error: BaseException) -> None:
    """Let an error and its causes let go of the frames that they passed, and so of their arrays.

    A program may keep the error of a step for long.
    """
    found: dict[int, BaseException] = {}
    links: list[BaseException | None] = [error]
    while links:
        link = links.pop()
        if link is not None and id(link) not in found:
            found[id(link)] = link
            link.__traceback__ = None
            links += (link.__cause__, link.__context__)


def _node_at(trace: TracebackType | None, code: source.Code, filename: str) -> str | None:
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == filename:
            name = code.lines.get(trace.tb_lineno)
            if name is not None:  # The line that calls a run (`executor.runs`) has no node.
                return name
        trace = trace.tb_next
    return None


def translated(fault: Exception) -> errors.OpError:
    """Return the OpError for `fault`, which names no node unless the message already does."""
    if isinstance(fault, errors.OpError):
        return fault
    text = str(fault)
    if isinstance(fault, MemoryError):
        return errors.ResourceExhaustedError(None, None, f"OOM when allocating tensor: {text}")
    if isinstance(fault, ZeroDivisionError):
        return errors.InvalidArgumentError(None, None, "Integer division by zero")
    if isinstance(fault, ValueError | TypeError | IndexError | np.exceptions.AxisError):
        return errors.InvalidArgumentError(None, None, _broadcast_message(text))
    if isinstance(fault, RuntimeError):  # It may be an error of CUDA.
        return errors.from_exception(fault)
    return errors.InternalError(None, None, f"{type(fault).__name__}: {text}")


def _broadcast_message(text: str) -> str:
    """Return TensorFlow's message if `text` says that shapes do not broadcast, else `text`."""
    match = _SHAPES.search(text)
    if match is None or "broadcast" not in text:
        return text
    found = [tuple(map(int, re.findall(r"\d+", each))) for each in match[1].split(")")[:-1]]
    for first, second in itertools.combinations(found, 2):
        try:
            shapes.broadcast(first, second)
        except ValueError:
            return f"Incompatible shapes: {shapes.show(first)} vs. {shapes.show(second)}"
    return text
