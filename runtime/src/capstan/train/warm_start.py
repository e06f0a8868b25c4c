"""`tf.train.warm_start`: variables start from the checkpoint of another model.

Source: tensorflow/python/training/warm_starting_util.py.
"""

from collections.abc import Mapping
from typing import Any

from capstan.api import logging, variable_collections, variables
from capstan.train import initial_checkpoint, object_names, saveable_object, vocabulary


def warm_start(
    ckpt_to_initialize_from: str,
    vars_to_warm_start: Any = ".*",
    var_name_to_vocab_info: Mapping[str, vocabulary.VocabInfo] | None = None,
    var_name_to_prev_var_name: Mapping[str, str] | None = None,
) -> None:
    """Let the initializers of variables read their values from a checkpoint.

    `ckpt_to_initialize_from` is a checkpoint, or a folder whose newest checkpoint is used. It may
    be a checkpoint of objects, of `tf.train.Checkpoint`.
    `vars_to_warm_start` is a pattern for the names of trainable variables, a list of patterns for
    the names of global variables, or a list of variables. None stands for the trainable variables
    of `var_name_to_vocab_info`, whose rows or columns belong to words.
    `var_name_to_prev_var_name` gives the names in the checkpoint if they differ. The name of a
    partitioned variable is the name of the full variable. Call this function before the operation
    that initializes the variables is made.

    Raises:
        ValueError: a variable of the two dictionaries is not warm-started, the checkpoint does not
            fit the variables, or `vars_to_warm_start` is not of these kinds.
    """
    logging.info("Warm-starting from: %s", ckpt_to_initialize_from)
    infos, old_names = var_name_to_vocab_info or {}, var_name_to_prev_var_name or {}
    grouped = _grouped(vars_to_warm_start)
    path, count = initial_checkpoint.path_of(ckpt_to_initialize_from), 0
    keys = object_names.keys(path)
    for name, parts in grouped.items():
        old_name = old_names.get(name, name)
        old_name = keys.get(old_name, old_name)
        if name in infos:
            vocabulary.initialize(parts, path, old_name, infos[name])
        elif vars_to_warm_start:
            target = parts[0] if len(parts) == 1 else parts
            initial_checkpoint.init_from_checkpoint(path, {old_name: target})
        else:
            continue
        count += 1
    logging.info("Warm-started %d variables.", count)
    _check_used("var_name_to_prev_var_name", old_names, grouped)
    _check_used("var_name_to_vocab_info", infos, grouped)


def _grouped(wanted: Any) -> dict[str, list[Any]]:
    """Return variables by their names in a checkpoint. The parts of a variable form a list."""
    if wanted is None or isinstance(wanted, str):
        logging.info("Warm-starting variables only in TRAINABLE_VARIABLES.")
        found = variable_collections.trainable_variables(wanted)
    elif not isinstance(wanted, list):
        raise ValueError(
            f"`vars_to_warm_start must be a `list` or `str`.  Given type is {type(wanted)}"
        )
    elif all(isinstance(each, str) for each in wanted):
        found = [var for scope in wanted for var in variable_collections.global_variables(scope)]
    elif all(isinstance(each, variables.Variable) for each in wanted):
        found = wanted
    else:
        raise ValueError(
            "If `vars_to_warm_start` is a list, it must be all `Variable` or all `str`.  Given "
            f"types are {[type(each) for each in wanted]}"
        )
    grouped: dict[str, list[Any]] = {}
    for var in found:
        (name,) = saveable_object.saveables_by_name([var])
        grouped.setdefault(name, []).append(var)
    return grouped


def _check_used(argument: str, given: Mapping[str, Any], grouped: Mapping[str, Any]) -> None:
    unused = set(given) - set(grouped)
    if unused:
        raise ValueError(
            f"You provided the following variables in {argument} that were not used: {unused}.  "
            "Perhaps you misspelled them?  Here is the list of viable variable names: "
            f"{grouped.keys()}"
        )
