"""The state file of a checkpoint folder: the text file `checkpoint`, which lists the checkpoints.

    model_checkpoint_path: "model.ckpt-200"
    all_model_checkpoint_paths: "model.ckpt-100"
    all_model_checkpoint_paths: "model.ckpt-200"

The file is a CheckpointState in protocol buffer text format, so TensorFlow's tools read it too.
Source: tensorflow/python/training/checkpoint_management.py.
"""

import os
import re
from collections.abc import Sequence
from typing import Any

from capstan import errors
from capstan.api import logging
from capstan.core import checkpoint_messages
from capstan.resources import bundle, checkpoints, durable, file_names, files

_FILE = "checkpoint"


def generate_checkpoint_state_proto(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> Any:
    """Return a CheckpointState. Its list of checkpoints always ends with the newest one.

    As in TensorFlow, a missing newest checkpoint is also appended to the list
    `all_model_checkpoint_paths` of the caller.

    If `save_dir` is relative, this function rewrites relative checkpoint paths so that they start
    from `save_dir`. If `save_dir` is absolute, relative checkpoint paths stay unchanged, because
    they count as relative to `save_dir`. If `save_dir` is a URL, the paths of checkpoints in this
    folder become relative too.

    Raises:
        ValueError: the number of timestamps is not the number of checkpoints.
    """
    given = all_model_checkpoint_paths
    paths = given if isinstance(given, list) else list(given or ())
    times = list(all_model_checkpoint_timestamps or ())
    if times and len(times) != len(paths):
        raise ValueError(
            "Checkpoint timestamps, if provided, must match checkpoint paths (got paths "
            f"{paths} and timestamps {times})"
        )
    if not paths or paths[-1] != model_checkpoint_path:
        paths.append(model_checkpoint_path)
        if times:
            times.append(times[-1])
    if file_names.is_url(save_dir):
        paths = [file_names.relative(path, save_dir) for path in paths]
    elif not os.path.isabs(save_dir):
        paths = [
            path if file_names.is_absolute(path) else os.path.relpath(path, save_dir)
            for path in paths
        ]
    return checkpoint_messages.CheckpointState(
        model_checkpoint_path=paths[-1],
        all_model_checkpoint_paths=paths,
        all_model_checkpoint_timestamps=times,
        last_preserved_timestamp=last_preserved_timestamp or 0.0,
    )


def update_checkpoint_state(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    latest_filename: str | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
    save_relative_paths: bool = False,
) -> None:
    """Write the state file. The new file replaces the old file atomically.

    The call blocks until the new file is on the disk, or in the store if `save_dir` is a URL. A
    loss of power therefore leaves either the old file or the new one.

    With `save_relative_paths`, all paths are written relative to `save_dir`, so that the folder
    can be moved.

    Raises:
        RuntimeError: the newest checkpoint would have the name of the state file.
        OpError: the file cannot be written. The old file is then unchanged.
    """
    state_path = checkpoint_filename(save_dir, latest_filename)
    newest, paths = model_checkpoint_path, list(all_model_checkpoint_paths or ())
    if save_relative_paths:
        newest, *paths = (
            file_names.relative(path, save_dir) if file_names.is_absolute(path) else path
            for path in (newest, *paths)
        )
    state = generate_checkpoint_state_proto(
        save_dir, newest, paths, all_model_checkpoint_timestamps, last_preserved_timestamp
    )
    if state_path == state.model_checkpoint_path:
        raise RuntimeError(
            f"Save path '{model_checkpoint_path}' conflicts with path used for checkpoint state. "
            "Please use a different save path."
        )
    with durable.replacing(state_path) as file:
        file.write(_to_text(state).encode())


def get_checkpoint_state(checkpoint_dir: str, latest_filename: str | None = None) -> Any:
    """Return the CheckpointState of a folder, with paths that include the folder.

    Return None if there is no state file. If it cannot be read, log a warning and return None.

    Raises:
        ValueError: the state file names no newest checkpoint.
        OpError: the store of the URL `checkpoint_dir` cannot be read. Training from the start would
            then lose the checkpoints that the store has.
    """
    from google.protobuf import text_format

    path = checkpoint_filename(checkpoint_dir, latest_filename)
    state = checkpoint_messages.CheckpointState()
    try:
        text_format.Merge(files.read_all(path).decode(), state)
    except errors.NotFoundError:
        return None
    except (errors.OpError, UnicodeDecodeError, text_format.ParseError) as error:
        if isinstance(error.__cause__, NotADirectoryError):
            return None
        if isinstance(error, errors.OpError) and file_names.local_path(path) is None:
            raise
        logging.warning("%s: %s", path, error)
        logging.warning("%s: Checkpoint ignored", path)
        return None
    if not state.model_checkpoint_path:
        raise ValueError(f"Invalid checkpoint state loaded from {path}: no model_checkpoint_path")
    folder = str(checkpoint_dir)
    state.model_checkpoint_path = file_names.joined(folder, state.model_checkpoint_path)
    paths = [file_names.joined(folder, name) for name in state.all_model_checkpoint_paths]
    state.all_model_checkpoint_paths[:] = paths
    return state


def latest_checkpoint(checkpoint_dir: str, latest_filename: str | None = None) -> str | None:
    """Return the newest checkpoint that the state file names.

    Return None if there is no state file, or if the files of that checkpoint are missing.
    """
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None:
        return None
    newest: str = state.model_checkpoint_path
    if checkpoint_exists(newest):
        return newest
    logging.error("Couldn't match files for checkpoint %s", newest)
    return None


def checkpoint_exists(checkpoint_prefix: str) -> bool:
    """Return whether there is a checkpoint called `checkpoint_prefix`, in format V2 or V1."""
    return checkpoints.first_file(str(checkpoint_prefix)) is not None


def get_checkpoint_mtimes(checkpoint_prefixes: Sequence[str]) -> list[float]:
    """Return the time at which each existing checkpoint was written, in seconds since 1970.

    Checkpoints that do not exist are skipped.
    """
    found = (checkpoints.first_file(str(prefix)) for prefix in checkpoint_prefixes)
    return [files.of(name).status(name).mtime_nsec / 1e9 for name in found if name is not None]


def remove_checkpoint(
    checkpoint_prefix: str,
    checkpoint_format_version: int = bundle.VERSION,
    meta_graph_suffix: str = "meta",
) -> None:
    """Delete the files of a checkpoint of a format. A missing file is not an error."""
    checkpoints.remove(str(checkpoint_prefix), checkpoint_format_version)
    durable.remove(meta_graph_filename(checkpoint_prefix, meta_graph_suffix))


def meta_graph_filename(checkpoint_filename: str, meta_graph_suffix: str = "meta") -> str:
    """Return the name of the file that holds the graph of a checkpoint.

    >>> meta_graph_filename("dir/model.ckpt-7")
    'dir/model.ckpt-7.meta'
    >>> meta_graph_filename("dir/model.ckpt-7-?????-of-00002")
    'dir/model.ckpt-7.meta'
    """
    name = re.sub(r"-[\d?]+-of-\d+$", "", str(checkpoint_filename))
    return f"{name}.{meta_graph_suffix}"


def checkpoint_filename(save_dir: str, latest_filename: str | None = None) -> str:
    """Return the path of the state file of a folder."""
    return os.path.join(str(save_dir), latest_filename or _FILE)


def _to_text(state: Any) -> str:
    from google.protobuf import text_format

    text: str = text_format.MessageToString(state)
    return text
