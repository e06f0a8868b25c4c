"""`DropoutWrapper`: a cell that drops random inputs, outputs and states of another cell.

The behaviour follows python/ops/rnn_cell_wrapper_impl.py.
"""

import hashlib
from collections.abc import Callable
from typing import Any

from capstan.api import nn, random_ops, tensor_array_ops
from capstan.api.rnn import cells, wrappers
from capstan.core import tensor_shape
from capstan.framework import convert, nest
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


def _keeps_state(part: Any) -> Any:
    """Return which parts of a state dropout changes: not the memory of an LSTM, and no array."""
    if isinstance(part, cells.LSTMStateTuple):
        return cells.LSTMStateTuple(c=False, h=True)
    return not isinstance(part, tensor_array_ops.TensorArray)


class DropoutWrapper(wrappers.Wrapper):
    """Drops random inputs, outputs and states of a cell, with new choices in each time step.

    With `variational_recurrent`, all time steps and examples of a step of a session share the
    choices, as in Gal and Ghahramani, 2016. Then `dtype` must be given, and also `input_size` if
    inputs are dropped: the sizes of the inputs of a step. The memory `c` of an LSTM is not dropped.
    `dropout_state_filter_visitor(part)` decides otherwise: it is called with the state and with
    each part that it does not leave out, and returns whether the part is dropped, or a nest of
    such answers for the parts of the part.

    Raises:
        TypeError: the visitor is not callable.
        ValueError: a probability is not between 0 and 1, or `dtype` or `input_size` is missing.
    """

    def __init__(
        self,
        cell: Any,
        input_keep_prob: Any = 1.0,
        output_keep_prob: Any = 1.0,
        state_keep_prob: Any = 1.0,
        variational_recurrent: bool = False,
        input_size: Any = None,
        dtype: Any = None,
        seed: int | None = None,
        dropout_state_filter_visitor: Callable[[Any], Any] | None = None,
    ) -> None:
        super().__init__(cell)
        if dropout_state_filter_visitor is not None and not callable(dropout_state_filter_visitor):
            raise TypeError("dropout_state_filter_visitor must be callable")
        self._filter = dropout_state_filter_visitor or _keeps_state
        self._seed = seed
        self._keep = {
            "input": _probability("input", input_keep_prob),
            "output": _probability("output", output_keep_prob),
            "state": _probability("state", state_keep_prob),
        }
        self._noise: dict[str, list[Any]] = {}
        if variational_recurrent:
            if dtype is None:
                raise ValueError("When variational_recurrent=True, dtype must be provided")
            if input_size is None and self._drops("input"):
                raise ValueError(
                    "When variational_recurrent=True and input_keep_prob < 1.0 or is unknown, "
                    "input_size must be provided"
                )
            sizes = {"input": input_size, "output": cell.output_size, "state": cell.state_size}
            for kind in filter(self._drops, sizes):
                self._noise[kind] = self._noise_of(kind, sizes[kind], dtype)

    @property
    def wrapped_cell(self) -> Any:
        """The cell whose inputs, outputs and states are dropped."""
        return self._cell

    def _drops(self, kind: str) -> bool:
        keep = self._keep[kind]
        return not isinstance(keep, float) or keep < 1

    def _seed_of(self, kind: str, index: int) -> int | None:
        """Return a seed for a leaf, so that leaves of one size lose different elements."""
        if self._seed is None:
            return None
        text = f"{self._seed}{kind}_{index}".encode()
        return int(hashlib.md5(text, usedforsecurity=False).hexdigest()[:8], 16) & 0x7FFFFFFF

    def _noise_of(self, kind: str, sizes: Any, dtype: Any) -> list[Any]:
        """Return random numbers for each leaf, which all time steps and examples share."""
        found = []
        for index, size in enumerate(nest.flatten(sizes)):
            shape = tensor_shape.as_shape([size] if isinstance(size, int) else size).as_list()
            seed = self._seed_of(kind, index)
            found.append(random_ops.random_uniform([1, *shape], dtype=dtype, seed=seed))
        return found

    def _dropped(self, kind: str, values: Any, chosen: list[Any] | None = None) -> Any:
        """Return a nest whose chosen leaves, by default all of them, lost elements."""
        if not self._drops(kind):
            return values
        leaves = nest.flatten(values)
        flags = chosen or [True] * len(leaves)
        return nest.packed(
            values,
            [
                self._drop(kind, index, leaf) if flag else leaf
                for index, (leaf, flag) in enumerate(zip(leaves, flags, strict=True))
            ],
        )

    def _drop(self, kind: str, index: int, value: Any) -> Any:
        keep = self._keep[kind]
        if kind not in self._noise:
            return nn.dropout(value, keep_prob=keep, seed=self._seed_of(kind, index))
        kept = raw.Floor(self._noise[kind][index] + keep)
        result = value / keep * kept
        result.set_shape(value.shape)
        return result

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        output, new_state = self._cell(self._dropped("input", inputs), state, scope=scope)
        new_state = self._dropped("state", new_state, self._chosen(new_state))
        return self._dropped("output", output), new_state

    def _chosen(self, part: Any) -> list[Any]:
        """Return whether each leaf of a state is dropped."""
        answer = self._filter(part)
        if not nest.is_nested(part):
            return [bool(answer)]
        parts = list(part.values()) if isinstance(part, dict) else list(part)
        if not nest.is_nested(answer):
            if not answer:
                return [False] * len(nest.flatten(part))
            return [flag for each in parts for flag in self._chosen(each)]
        answers = list(answer.values()) if isinstance(answer, dict) else list(answer)
        return [
            flag
            for each, wanted in zip(parts, answers, strict=True)
            for flag in (
                self._chosen(each) if wanted is True else [False] * len(nest.flatten(each))
            )
        ]


def _probability(kind: str, keep: Any) -> Any:
    """Return a known probability as a float, and an unknown one as a tensor.

    Raises:
        ValueError: the probability is not between 0 and 1.
    """
    with graphs.get_default_graph().name_scope("DropoutWrapperInit"):
        value = convert.constant_value(convert.convert_to_tensor(keep))
    if value is None:
        return keep
    if not 0 <= value <= 1:
        raise ValueError(f"Parameter {kind}_keep_prob must be between 0 and 1: {float(value)}")
    return float(value)
