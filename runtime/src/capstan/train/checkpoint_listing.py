"""Print the tensors of a checkpoint (tensorflow/python/tools/inspect_checkpoint.py)."""

import math
import re
import sys

from capstan import errors
from capstan.train import checkpoint_reader


def print_tensors_in_checkpoint_file(
    file_name: str,
    tensor_name: str | None,
    all_tensors: bool,
    all_tensor_names: bool = False,
    count_exclude_pattern: str = "",
) -> None:
    """Print one tensor of a checkpoint, or all, and the number of all elements.

    `all_tensors` prints the names, dtypes, shapes and values of all tensors, and
    `all_tensor_names` prints no values. Without both, print the tensor `tensor_name`, or a line for
    each tensor if `tensor_name` is empty. Tensors whose names match `count_exclude_pattern` do not
    count. If the checkpoint cannot be read, print the reason.
    """
    try:
        reader = checkpoint_reader.NewCheckpointReader(file_name)
        is_listing = all_tensors or all_tensor_names or not tensor_name
        if not is_listing and not reader.has_tensor(str(tensor_name)):
            _print(f"Tensor {tensor_name} not found in checkpoint")
            return
        _print_chosen(reader, tensor_name, with_values=all_tensors, with_names=all_tensor_names)
        _print_count(reader, count_exclude_pattern)
    except errors.OpError as error:
        _print(error.message)


def _print_chosen(
    reader: checkpoint_reader.CheckpointReader,
    tensor_name: str | None,
    *,
    with_values: bool,
    with_names: bool,
) -> None:
    shapes, dtypes = reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map()
    if not (with_values or with_names or tensor_name):
        _print(reader.debug_string().decode(errors="ignore"))
        return
    for name in sorted(shapes) if with_values or with_names else [str(tensor_name)]:
        _print(f"tensor: {name} ({dtypes[name].name}) {shapes[name]}")
        if with_values or not with_names:
            _print(str(reader.get_tensor(name)))


def _print_count(reader: checkpoint_reader.CheckpointReader, exclude: str) -> None:
    sizes = {name: math.prod(shape) for name, shape in reader.get_variable_to_shape_map().items()}
    if exclude:
        left_out = [sizes.pop(name) for name in list(sizes) if re.search(exclude, name)]
        _print(
            f"# Excluding {len(left_out)} tensors ({sum(left_out)} params) that match {exclude} "
            "when counting."
        )
    _print(f"# Total number of params: {sum(sizes.values())}")


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
