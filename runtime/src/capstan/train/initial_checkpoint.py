"""Variables that start from a checkpoint, and programs that wait for checkpoints.

Source: tensorflow/python/training/checkpoint_utils.py.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from capstan.api import file_io, logging, partitioned_variables, variable_store, variables
from capstan.core import tensor_shape
from capstan.framework.raw import raw
from capstan.train import checkpoint_reader, checkpoint_state


def init_from_checkpoint(ckpt_dir_or_file: str, assignment_map: Mapping[str, Any]) -> None:
    """Let the initializers of variables read their values from a checkpoint.

    `ckpt_dir_or_file` is a checkpoint, or a folder whose newest checkpoint is used. A key of
    `assignment_map` is a tensor of the checkpoint, and the value is a variable or the name of one
    made by `get_variable`. The variable may be partitioned, or a list of its parts. If the key is a
    scope that ends with "/", the value is a scope, and each of its variables gets the tensor of the
    same name. "/" stands for all names. Call this function before the operation that initializes
    the variables is made.

    Raises:
        ValueError: the checkpoint has no such tensor, a tensor has another shape than its variable,
            or a scope is mapped to a single tensor.
    """
    path = path_of(ckpt_dir_or_file)
    shapes = checkpoint_reader.NewCheckpointReader(path).get_variable_to_shape_map()
    store = _with_parts_joined(variable_store.get_default_variable_store().by_name())
    for tensor, target in sorted(assignment_map.items(), key=lambda pair: pair[0]):
        var = target if _is_variable(target) else store.get(target)
        if var is not None:
            if tensor not in shapes:
                raise ValueError(
                    f"Tensor {tensor} is not found in {ckpt_dir_or_file} checkpoint {shapes}"
                )
            _initialize(var, path, tensor, shapes)
            continue
        for name, own_tensor in _in_scope(store, str(target), tensor):
            if own_tensor not in shapes:
                raise ValueError(
                    f"Tensor {own_tensor} ({name} in {tensor}) is not found in {ckpt_dir_or_file} "
                    "checkpoint"
                )
            _initialize(store[name], path, own_tensor, shapes)


def checkpoints_iterator(
    checkpoint_dir: str,
    min_interval_secs: float = 0,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Iterator[str]:
    """Yield the newest checkpoint of a folder whenever there is a new one. Blocks in between.

    Two checkpoints are at least `min_interval_secs` seconds apart. After `timeout` seconds without
    a new checkpoint the iterator ends, unless `timeout_fn` returns false.
    """
    newest: str | None = None
    while True:
        found = wait_for_new_checkpoint(checkpoint_dir, newest, timeout=timeout)
        if found is None:
            if timeout_fn is None:
                logging.info("Timed-out waiting for a checkpoint.")
                return
            if timeout_fn():
                return
            continue
        started, newest = time.monotonic(), found
        yield found
        threading.Event().wait(max(0.0, started + min_interval_secs - time.monotonic()))


def wait_for_new_checkpoint(
    checkpoint_dir: str,
    last_checkpoint: str | None = None,
    seconds_to_sleep: float = 1,
    timeout: float | None = None,
) -> str | None:
    """Return the newest checkpoint of a folder as soon as it is not `last_checkpoint`. Blocks.

    The folder is looked at every `seconds_to_sleep` seconds. After `timeout` seconds the result is
    None.
    """
    logging.info("Waiting for new checkpoint at %s", checkpoint_dir)
    deadline = None if timeout is None else time.monotonic() + timeout
    while True:
        path = checkpoint_state.latest_checkpoint(checkpoint_dir)
        if path is not None and path != last_checkpoint:
            logging.info("Found new checkpoint at %s", path)
            return path
        if deadline is not None and time.monotonic() + seconds_to_sleep > deadline:
            return None
        threading.Event().wait(seconds_to_sleep)


def path_of(ckpt_dir_or_file: str) -> str:
    """Return the name of a checkpoint, or of the newest checkpoint of a folder.

    Raises:
        ValueError: the folder has no checkpoints.
    """
    path = os.fspath(ckpt_dir_or_file)
    newest = checkpoint_state.latest_checkpoint(path) if file_io.is_directory(path) else path
    if newest is None:
        raise ValueError(
            f"Couldn't find 'checkpoint' file or checkpoints in given directory {path}"
        )
    return newest


def _in_scope(store: Mapping[str, Any], target: str, tensor: str) -> list[tuple[str, str]]:
    """Return the variables of the scope `target`, each with its tensor in the scope `tensor`."""
    scope = target.rpartition("/")[0]
    if not tensor.endswith("/"):
        raise ValueError(
            f"Assignment map with scope only name {scope} should map to scope only {tensor}. "
            "Should be 'scope/': 'other_scope/'."
        )
    start = len(scope) + 1 if scope else 0
    prefix = "" if tensor == "/" else tensor
    return [
        (name, prefix + name[start:])
        for name in sorted(store)
        if not scope or name.startswith(f"{scope}/")
    ]


def _is_variable(target: Any) -> bool:
    return isinstance(target, variables.Variable | partitioned_variables.PartitionedVariable | list)


def _with_parts_joined(store: Mapping[str, Any]) -> dict[str, Any]:
    """Return variables by name. The parts of a partitioned variable form a list."""
    joined: dict[str, Any] = {}
    for name, var in store.items():
        info = var._get_save_slice_info()
        if info is None:
            joined[name] = var
        else:
            joined.setdefault(info.full_name, []).append(var)
    return joined


def _initialize(var: Any, path: str, tensor: str, shapes: Mapping[str, list[int]]) -> None:
    if isinstance(var, list | partitioned_variables.PartitionedVariable):
        _check_parts(list(var))
        for part in var:
            _initialize(part, path, tensor, shapes)
        return
    info = var._get_save_slice_info()
    shape = var.shape if info is None else tensor_shape.as_shape(info.full_shape)
    if not shape.is_compatible_with(shapes[tensor]):
        raise ValueError(
            f"Shape of variable {var.name} ({shape}) doesn't match with shape of tensor {tensor} "
            f"({shapes[tensor]}) from checkpoint reader."
        )
    graph, dtype = var.graph, var.dtype.base_dtype
    # A ps may have a GPU, but RestoreV2 runs on CPUs.
    with graph.device(var.device), graph.device("/cpu:0"):
        (value,) = raw.RestoreV2(
            path,
            [tensor],
            ["" if info is None else info.spec],
            dtypes=[dtype],
            name="checkpoint_initializer",
        )
    value.set_shape(var.shape)
    var._start_from(value)


def _check_parts(parts: list[Any]) -> None:
    """Raise ValueError if a list holds other objects than the parts of one variable."""
    infos = [part._get_save_slice_info() for part in parts]
    if None in infos:
        raise ValueError(f"Slices must all be slices: {parts[infos.index(None)]}")
    names = sorted({info.full_name for info in infos})
    if len(names) > 1:
        raise ValueError(f"Slices must all be from the same tensor: {' != '.join(names)}")
