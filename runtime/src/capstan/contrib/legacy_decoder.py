"""`rnn_decoder` (contrib/legacy_seq2seq/python/ops/seq2seq.py)."""

from collections.abc import Callable, Iterable
from typing import Any

from capstan.api import scope_block, variable_scope


def rnn_decoder(
    decoder_inputs: Iterable[Any],
    initial_state: Any,
    cell: Any,
    loop_function: Callable[[Any, int], Any] | None = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """Return the outputs of a cell for each input, and the last state.

    From the second step on, `loop_function(output, step)` replaces the input, if it is given.
    """
    with scope_block.variable_scope(scope or "rnn_decoder"):
        state = initial_state
        outputs: list[Any] = []
        for number, given in enumerate(decoder_inputs):
            inputs = given
            if loop_function is not None and outputs:
                with scope_block.variable_scope("loop_function", reuse=True):
                    inputs = loop_function(outputs[-1], number)
            if number > 0:
                variable_scope.get_variable_scope().reuse_variables()
            output, state = cell(inputs, state)
            outputs.append(output)
        return outputs, state
