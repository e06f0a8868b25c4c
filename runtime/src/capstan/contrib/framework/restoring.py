"""Operations that assign values, or the tensors of a checkpoint, to variables.

The behaviour follows contrib/framework/python/ops/variables.py.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from capstan.api import creation_ops, logging
from capstan.contrib.framework import variables
from capstan.framework import grouping
from capstan.train import checkpoint_reader, saver

Assignment = tuple[Any, dict[Any, Any]]
"""An operation, and the values that `Session.run` must feed to it."""


def assign_from_values(var_names_to_values: Mapping[str, Any]) -> Assignment:
    """Return an operation that assigns values to variables by their names, and its feeds.

    Raises:
        ValueError: there is no variable of a name.
    """
    pairs = []
    for name, value in var_names_to_values.items():
        found = variables.get_variables(name)
        if not found:
            raise ValueError(f"Variable {name} wasn't found")
        if len(found) > 1:
            found = [each for each in found if each.op.name == name]
        if not found:
            raise ValueError(f"Variable {name} doesn't uniquely identify a variable")
        pairs.append((found[0], value.reshape(found[0].shape.as_list())))
    return _assigned(pairs)


def assign_from_values_fn(var_names_to_values: Mapping[str, Any]) -> Callable[[Any], Any]:
    """Return a function that assigns values to variables in a session."""
    assignment, feeds = assign_from_values(var_names_to_values)
    return lambda session: session.run(assignment, feeds)


def _assigned(pairs: Sequence[tuple[Any, Any]]) -> Assignment:
    feeds, assignments = {}, []
    for variable, value in pairs:
        placeholder = creation_ops.placeholder(
            variable.dtype.base_dtype, variable.shape, name=f"placeholder/{variable.op.name}"
        )
        assignments.append(variable.assign(placeholder))
        feeds[placeholder] = value
    return grouping.group(*assignments), feeds


def assign_from_checkpoint(
    model_path: str, var_list: Any, ignore_missing_vars: bool = False
) -> Assignment:
    """Return an operation that assigns the tensors of a checkpoint to variables, and its feeds.

    `var_list` is a list of variables, or a mapping from the names of tensors to variables or lists
    of variables.

    Raises:
        ValueError: the checkpoint lacks a tensor, or a tensor has another shape than its variable.
    """
    reader, pairs = checkpoint_reader.NewCheckpointReader(model_path), []
    for name, targets in _by_tensor(var_list).items():
        if not reader.has_tensor(name):
            if not ignore_missing_vars:
                raise ValueError(f"Checkpoint is missing variable [{name}]")
            logging.warning("Checkpoint is missing variable [%s]", name)
            continue
        tensor = reader.get_tensor(name)
        pairs += [(target, _part_for(target, tensor, name)) for target in targets]
    return _assigned(pairs)


def _by_tensor(var_list: Any) -> dict[str, list[Any]]:
    grouped: dict[str, list[Any]] = {}
    if isinstance(var_list, Mapping):
        for name, value in var_list.items():
            grouped[name] = list(value) if isinstance(value, list | tuple) else [value]
        return grouped
    for variable in var_list:
        grouped.setdefault(variables.get_variable_full_name(variable), []).append(variable)
    return grouped


def _part_for(variable: Any, tensor: Any, name: str) -> Any:
    info = variable._save_slice_info
    if info:
        spans = zip(info.var_offset, info.var_shape, strict=True)
        return tensor[tuple(slice(start, start + size) for start, size in spans)]
    if variable.shape.as_list() != list(tensor.shape):
        raise ValueError(
            f"Total size of new array must be unchanged for {name} "
            f"lh_shape: [{tensor.shape}], rh_shape: [{variable.shape}]"
        )
    return tensor


def assign_from_checkpoint_fn(
    model_path: str,
    var_list: Any,
    ignore_missing_vars: bool = False,
    reshape_variables: bool = False,
) -> Callable[[Any], Any] | None:
    """Return a function that restores variables from a checkpoint in a session.

    The result is None if the checkpoint has none of the variables and `ignore_missing_vars` is set.

    Raises:
        ValueError: `var_list` is empty.
    """
    if not var_list:
        raise ValueError("var_list cannot be empty")
    if ignore_missing_vars:
        reader = checkpoint_reader.NewCheckpointReader(model_path)
        names = var_list if isinstance(var_list, Mapping) else {v.op.name: v for v in var_list}
        for name in names:
            if not reader.has_tensor(name):
                logging.warning("Variable %s missing in checkpoint %s", name, model_path)
        var_list = {name: v for name, v in names.items() if reader.has_tensor(name)}
        if not var_list:
            logging.warning("No Variables to restore")
            return None
    restorer = saver.Saver(var_list, reshape=reshape_variables)
    return lambda session: restorer.restore(session, model_path)
