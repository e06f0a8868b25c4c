"""The SaverDef of a saver: the names of its operations, and the steps that run them.

Source: tensorflow/python/training/saver.py.
"""

import errno
import os
from collections.abc import Callable, Iterator
from typing import Any

from capstan import errors
from capstan.api import file_io, logging
from capstan.framework import control_context, facts, opdef
from capstan.framework import graph as graphs
from capstan.placement import refusal
from capstan.resources import file_names, slice_files

_NAMES = ("filename_tensor_name", "save_tensor_name", "restore_op_name")


def check(definition: Any) -> None:
    """Check that a SaverDef names its operations.

    Raises:
        ValueError: a name is missing.
    """
    for field in ("save_tensor_name", "restore_op_name"):
        if not getattr(definition, field):
            raise ValueError(f"saver_def must specify the {field}: {definition}")


def imported(definition: Any, scope: str | None) -> Any:
    """Return a copy of a SaverDef whose names begin with `scope` and a slash."""
    return _renamed(definition, lambda name: f"{scope}/{name}" if scope else name)


def exported(definition: Any, scope: str | None) -> Any:
    """Return a copy of a SaverDef without `scope` before its names.

    Return None if a name does not begin with `scope`.
    """
    if scope and not all(getattr(definition, field).startswith(scope) for field in _NAMES):
        return None
    return _renamed(definition, lambda name: control_context.stripped(name, scope))


def _renamed(definition: Any, rename: Callable[[str], str]) -> Any:
    renamed = type(definition)()
    renamed.CopyFrom(definition)
    for field in _NAMES:
        setattr(renamed, field, rename(getattr(definition, field)))
    return renamed


def save(sess: Any, definition: Any, path: str) -> str:
    """Write a checkpoint and return its name. Blocks. Warn about format V1, which is deprecated.

    Raises:
        ValueError: the folder does not exist and cannot be made.
        OpError: the step that saves failed.
    """
    if definition.version == slice_files.VERSION:
        logging.warning(
            "TensorFlow's V1 checkpoint format has been deprecated. Consider switching to the more "
            "efficient V2 format: `tf.train.Saver(write_version=tf.train.SaverDef.V2)` now on by "
            "default."
        )
    try:
        saved = sess.run(definition.save_tensor_name, {definition.filename_tensor_name: path})
    except (errors.FailedPreconditionError, errors.NotFoundError) as error:
        folder = file_names.folder_of(path)
        if folder and not file_io.is_directory(folder):
            raise ValueError(f"Parent directory of {path} doesn't exist, can't save.") from error
        raise
    return saved.decode() if isinstance(saved, bytes) else str(saved)


def restore(sess: Any, definition: Any, path: str) -> None:
    """Assign the values of a checkpoint to the variables. Blocks.

    Raises:
        NotFoundError: a variable is not in the checkpoint, or a file of the checkpoint is missing.
        InvalidArgumentError: a variable has another dtype or shape in the checkpoint, or an
            operation has a device that no task has.
    """
    try:
        sess.run(definition.restore_op_name, {definition.filename_tensor_name: path})
    except errors.NotFoundError as error:
        if os.strerror(errno.ENOENT) in error.message:
            raise _incomplete(error, path) from error
        cause = "a Variable name or other graph key that is missing from the checkpoint"
        raise _explained(error, cause) from error
    except errors.InvalidArgumentError as error:
        if refusal.is_refusal(error):
            raise  # The operations have no devices, whatever the checkpoint holds.
        cause = "a mismatch between the current graph and the graph from the checkpoint"
        raise _explained(error, cause, _variable_of(error, path)) from error


def _incomplete(error: errors.OpError, path: str) -> errors.OpError:
    """Return the error of a checkpoint whose index is there, and whose values are not."""
    return errors.from_code(
        error.error_code,
        f"A file of the checkpoint {path} is missing. Copy a checkpoint with all files whose names "
        f"begin with {path}, or restore another checkpoint. Original error:\n\n{error.message}",
        node_def=error.node_def,
        op=error.op,
    )


def _variable_of(error: errors.OpError, path: str) -> str:
    """Return the beginning of a sentence about the variable whose assignment failed, or nothing."""
    for op in () if error.op is None else _with_readers(error.op):
        targets = [tensor.op for tensor in op.inputs[:1]]
        if any(opdef.role(target.type) is facts.Role.VARIABLE for target in targets):
            return f"Variable {targets[0].name} does not fit its value in {path}: "
    return ""


def _with_readers(op: graphs.Operation) -> Iterator[graphs.Operation]:
    """Yield an operation, and the operations to which its value goes, if it goes to one at a time.

    A value that cannot be reshaped therefore leads to the assignment of its variable.
    """
    yield op
    while len(op.outputs) == 1 and len(readers := op.outputs[0].consumers()) == 1:
        (op,) = readers
        yield op


def _explained(error: errors.OpError, cause: str, subject: str = "") -> errors.OpError:
    return errors.from_code(
        error.error_code,
        f"Restoring from checkpoint failed. This is most likely due to {cause}. Please ensure that "
        f"you have not altered the graph expected based on the checkpoint. Original error:\n\n"
        f"{subject}{error.message}",
        node_def=error.node_def,
        op=error.op,
    )
