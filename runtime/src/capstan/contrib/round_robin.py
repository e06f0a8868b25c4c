"""`tf.contrib.input_pipeline`: the strings of a list, one in each step (contrib/input_pipeline)."""

import random
from collections.abc import Iterable
from typing import Any

from capstan.api import (
    array_ops,
    context,
    gather_ops,
    input_ops,
    scope_block,
    state_ops,
    variable_scope,
)
from capstan.core import dtypes
from capstan.framework import convert

__all__ = ["obtain_next", "seek_next"]


def obtain_next(string_list_tensor: Any, counter: Any) -> Any:
    """Return the next string of a vector in each step, and the first one after the last one.

    `counter` is a variable of int64, the index of the last string that was returned. Steps that run
    at the same time get different strings.
    """
    with context.colocate_with(counter):
        number = state_ops.assign_add(counter, 1, use_locking=True)
        strings = convert.convert_to_tensor(string_list_tensor)
        count = array_ops.size(strings, out_type=dtypes.int64)
        return gather_ops.gather(strings, number % count)


def seek_next(
    string_list: Iterable[str],
    shuffle: bool = False,
    seed: int | None = None,
    num_epochs: int | None = None,
) -> Any:
    """Return the next string of a list in each step, and the first one after the last one.

    If `shuffle`, each of the `num_epochs` rounds has a random order of its own, by `seed`. The step
    after `num_epochs` rounds raises OutOfRangeError. The order and the position are variables in
    the scope `obtain_next`, which is used once in a graph.
    """
    rounds = _rounds(list(string_list), shuffle, seed, num_epochs or 1)
    with scope_block.variable_scope("obtain_next"):
        counter = variable_scope.get_variable(
            "obtain_next_counter", initializer=convert.constant(-1, dtypes.int64), trainable=False
        )
        with context.colocate_with(counter):
            strings = variable_scope.get_variable(
                "obtain_next_expanded_list", initializer=convert.constant(rounds), trainable=False
            )
        if not num_epochs:
            return obtain_next(strings, counter)
        taken = variable_scope.get_variable(
            "obtain_next_filename_counter", initializer=convert.constant(0, dtypes.int64),
            trainable=False,
        )  # fmt: skip
        with context.control_dependencies([input_ops.count_up_to(taken, len(rounds))]):
            return obtain_next(strings, counter)


def _rounds(strings: list[str], shuffle: bool, seed: int | None, count: int) -> list[str]:
    chance = random.Random(seed or None)
    rounds = []
    for _ in range(count):
        if shuffle:
            chance.shuffle(strings)
        rounds += strings
    return rounds
