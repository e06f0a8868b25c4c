"""Models of lists of steps (contrib/legacy_seq2seq/python/ops/seq2seq.py)."""

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from capstan.api import (
    array_ops,
    cond_ops,
    gather_ops,
    math_ops,
    nest,
    nn,
    reduce_ops,
    scope_block,
    variable_scope,
)
from capstan.api.rnn import cells as rnn_cells
from capstan.api.rnn import loops
from capstan.contrib import legacy_attention, rnn_wrappers
from capstan.contrib.legacy_decoder import rnn_decoder
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

Steps = Sequence[Any]
Outputs = tuple[list[Any], Any]
"""The outputs of the steps, and the last state."""


def _copied(cell: Any) -> Any:
    """Return a copy of a cell that has no variables yet. The copy belongs to the same graph."""
    graph = graphs.get_default_graph()
    return copy.deepcopy(cell, {id(graph): graph})


def _feedback(table: Any, projection: Any, is_trained: bool) -> Callable[[Any, int], Any]:
    """Return a function from the outputs of a step to the vectors of their largest classes."""

    def next_input(previous: Any, _: int) -> Any:
        if projection is not None:
            previous = nn.xw_plus_b(previous, projection[0], projection[1])
        vectors = gather_ops.embedding_lookup(table, reduce_ops.argmax(previous, 1))
        return vectors if is_trained else raw.StopGradient(vectors)

    return next_input


def basic_rnn_seq2seq(
    encoder_inputs: Steps, decoder_inputs: Steps, cell: Any, dtype: Any = dtypes.float32,
    scope: Any = None,
) -> Outputs:  # fmt: skip
    """Return the outputs of a decoder that starts at the last state of an encoder.

    The encoder is a copy of the cell with variables of its own.
    """
    with scope_block.variable_scope(scope or "basic_rnn_seq2seq"):
        _, state = loops.static_rnn(_copied(cell), encoder_inputs, dtype=dtype)
        return rnn_decoder(decoder_inputs, state, cell)


def tied_rnn_seq2seq(
    encoder_inputs: Steps, decoder_inputs: Steps, cell: Any,
    loop_function: Callable[[Any, int], Any] | None = None, dtype: Any = dtypes.float32,
    scope: Any = None,
) -> Outputs:  # fmt: skip
    """Return the outputs of a decoder that shares the variables of the encoder."""
    with scope_block.variable_scope("combined_tied_rnn_seq2seq"):
        scope = scope or "tied_rnn_seq2seq"
        _, state = loops.static_rnn(cell, encoder_inputs, dtype=dtype, scope=scope)
        variable_scope.get_variable_scope().reuse_variables()
        return rnn_decoder(decoder_inputs, state, cell, loop_function, scope)


def embedding_rnn_decoder(
    decoder_inputs: Steps, initial_state: Any, cell: Any, num_symbols: int, embedding_size: int,
    output_projection: Any = None, feed_previous: bool = False,
    update_embedding_for_previous: bool = True, scope: Any = None,
) -> Outputs:  # fmt: skip
    """Return the outputs for ids, whose vectors are in the variable `embedding`.

    With `feed_previous`, only the first input is used. The others are the largest outputs.
    """
    with scope_block.variable_scope(scope or "embedding_rnn_decoder"):
        inputs, feedback = _embedded(
            decoder_inputs, num_symbols, embedding_size, output_projection, feed_previous,
            update_embedding_for_previous,
        )  # fmt: skip
        return rnn_decoder(inputs, initial_state, cell, feedback)


def embedding_attention_decoder(
    decoder_inputs: Steps, initial_state: Any, attention_states: Any, cell: Any, num_symbols: int,
    embedding_size: int, num_heads: int = 1, output_size: int | None = None,
    output_projection: Any = None, feed_previous: bool = False,
    update_embedding_for_previous: bool = True, dtype: Any = None, scope: Any = None,
    initial_state_attention: bool = False,
) -> Outputs:  # fmt: skip
    """Return what `embedding_rnn_decoder` returns, for a decoder with attention."""
    with scope_block.variable_scope(scope or "embedding_attention_decoder", dtype=dtype):
        inputs, feedback = _embedded(
            decoder_inputs, num_symbols, embedding_size, output_projection, feed_previous,
            update_embedding_for_previous,
        )  # fmt: skip
        return legacy_attention.attention_decoder(
            inputs, initial_state, attention_states, cell, output_size, num_heads, feedback,
            initial_state_attention=initial_state_attention,
        )  # fmt: skip


def _embedded(
    ids: Steps, classes: int, size: int, projection: Any, feed_previous: bool, is_trained: bool
) -> tuple[list[Any], Any]:
    """Return the vectors of ids, and the function that feeds outputs back, or None."""
    table = variable_scope.get_variable("embedding", [classes, size])
    feedback = _feedback(table, projection, is_trained) if feed_previous else None
    return [gather_ops.embedding_lookup(table, step) for step in ids], feedback


def embedding_rnn_seq2seq(
    encoder_inputs: Steps, decoder_inputs: Steps, cell: Any, num_encoder_symbols: int,
    num_decoder_symbols: int, embedding_size: int, output_projection: Any = None,
    feed_previous: Any = False, dtype: Any = None, scope: Any = None,
) -> Outputs:  # fmt: skip
    """Return the outputs of a model that encodes ids and decodes ids.

    Without `output_projection`, the outputs are logits of the decoder's classes. `feed_previous`
    may be a tensor.
    """
    with scope_block.variable_scope(scope or "embedding_rnn_seq2seq", dtype=dtype) as block:
        encoder = rnn_wrappers.EmbeddingWrapper(_copied(cell), num_encoder_symbols, embedding_size)
        _, state = loops.static_rnn(encoder, encoder_inputs, dtype=block.dtype)
        if output_projection is None:
            cell = rnn_wrappers.OutputProjectionWrapper(cell, num_decoder_symbols)

        def decoded(is_fed: bool, is_trained: bool) -> Outputs:
            return embedding_rnn_decoder(
                decoder_inputs, state, cell, num_decoder_symbols, embedding_size,
                output_projection, is_fed, is_trained,
            )  # fmt: skip

        return _chosen(feed_previous, decoded, state)


def embedding_attention_seq2seq(
    encoder_inputs: Steps, decoder_inputs: Steps, cell: Any, num_encoder_symbols: int,
    num_decoder_symbols: int, embedding_size: int, num_heads: int = 1,
    output_projection: Any = None, feed_previous: Any = False, dtype: Any = None,
    scope: Any = None, initial_state_attention: bool = False,
) -> Outputs:  # fmt: skip
    """Return what `embedding_rnn_seq2seq` returns, for a decoder with attention to the encoder."""
    with scope_block.variable_scope(scope or "embedding_attention_seq2seq", dtype=dtype) as block:
        encoder = rnn_wrappers.EmbeddingWrapper(_copied(cell), num_encoder_symbols, embedding_size)
        outputs, state = loops.static_rnn(encoder, encoder_inputs, dtype=block.dtype)
        memory = array_ops.stack(outputs, 1)
        output_size = None
        if output_projection is None:
            cell = rnn_wrappers.OutputProjectionWrapper(cell, num_decoder_symbols)
            output_size = num_decoder_symbols

        def decoded(is_fed: bool, is_trained: bool) -> Outputs:
            return embedding_attention_decoder(
                decoder_inputs, state, memory, cell, num_decoder_symbols, embedding_size,
                num_heads, output_size, output_projection, is_fed, is_trained,
                initial_state_attention=initial_state_attention,
            )  # fmt: skip

        return _chosen(feed_previous, decoded, state)


def embedding_tied_rnn_seq2seq(
    encoder_inputs: Steps, decoder_inputs: Steps, cell: Any, num_symbols: int, embedding_size: int,
    num_decoder_symbols: int | None = None, output_projection: Any = None,
    feed_previous: Any = False, dtype: Any = None, scope: Any = None,
) -> Outputs:  # fmt: skip
    """Return what `embedding_rnn_seq2seq` returns, for an encoder that is also the decoder.

    Both share the variables of the cell and the vectors of ids. Without `output_projection`, the
    outputs are logits of the first `num_decoder_symbols` classes, by default of all.

    Raises:
        ValueError: the projection does not fit the classes.
    """
    name = scope or "embedding_tied_rnn_seq2seq"
    with scope_block.variable_scope(name, dtype=dtype) as block:
        kind = block.dtype
        if output_projection is not None:
            for part, shape in zip(
                output_projection, ([None, num_symbols], [num_symbols]), strict=True
            ):
                tensor = convert.convert_to_tensor(part, kind)
                tensor.shape.assert_is_compatible_with(shape)
        table = variable_scope.get_variable("embedding", [num_symbols, embedding_size], kind)
        inputs, following = (
            [gather_ops.embedding_lookup(table, step) for step in steps]
            for steps in (encoder_inputs, decoder_inputs)
        )
        if output_projection is None:
            cell = rnn_wrappers.OutputProjectionWrapper(cell, num_decoder_symbols or num_symbols)

        def decoded(is_fed: bool, is_trained: bool) -> Outputs:
            feedback = _feedback(table, output_projection, is_trained) if is_fed else None
            return tied_rnn_seq2seq(inputs, following, cell, feedback, kind)

        zeros = cell.zero_state(array_ops.shape(encoder_inputs[0])[0], kind)
        return _chosen(feed_previous, decoded, zeros)


def one2many_rnn_seq2seq(
    encoder_inputs: Steps, decoder_inputs_dict: Mapping[str, Steps], enc_cell: Any,
    dec_cells_dict: Mapping[str, Any], num_encoder_symbols: int,
    num_decoder_symbols_dict: Mapping[str, int], embedding_size: int, feed_previous: Any = False,
    dtype: Any = None, scope: Any = None,
) -> tuple[dict[str, list[Any]], dict[str, Any]]:  # fmt: skip
    """Return the outputs and the last states of several decoders of one encoder, by their names.

    Raises:
        TypeError: a cell is not an RNNCell.
        ValueError: the decoders have other names than their inputs.
    """
    if not isinstance(enc_cell, rnn_cells.RNNCell):
        raise TypeError(f"enc_cell is not an RNNCell: {type(enc_cell)}")
    if set(dec_cells_dict) != set(decoder_inputs_dict):
        raise ValueError("keys of dec_cells_dict != keys of decoder_inputs_dict")
    for cell in dec_cells_dict.values():
        if not isinstance(cell, rnn_cells.RNNCell):
            raise TypeError(f"dec_cell is not an RNNCell: {type(cell)}")
    found = {}
    with scope_block.variable_scope(scope or "one2many_rnn_seq2seq", dtype=dtype) as block:
        encoder = rnn_wrappers.EmbeddingWrapper(enc_cell, num_encoder_symbols, embedding_size)
        _, start = loops.static_rnn(encoder, encoder_inputs, dtype=block.dtype)
        for name, inputs in decoder_inputs_dict.items():
            count = num_decoder_symbols_dict[name]
            with scope_block.variable_scope(f"one2many_decoder_{name}"):
                cell = rnn_wrappers.OutputProjectionWrapper(dec_cells_dict[name], count)

                def decoded(
                    is_fed: bool,
                    _: bool,
                    inputs: Any = inputs,
                    cell: Any = cell,
                    count: Any = count,
                ) -> Outputs:
                    return embedding_rnn_decoder(
                        inputs, start, cell, count, embedding_size, feed_previous=is_fed
                    )

                found[name] = _chosen(feed_previous, decoded, start)
    outputs = {name: each[0] for name, each in found.items()}
    return outputs, {name: each[1] for name, each in found.items()}


def _chosen(feed_previous: Any, decoded: Callable[[bool, bool], Outputs], like: Any) -> Outputs:
    """Return the outputs of a decoder, or of two decoders between which a tensor chooses."""
    if isinstance(feed_previous, bool):
        return decoded(feed_previous, True)

    def branch(is_fed: bool) -> list[Any]:
        current = variable_scope.get_variable_scope()
        with scope_block.variable_scope(current, reuse=None if is_fed else True):
            outputs, state = decoded(is_fed, False)
        return [*outputs, *nest.flatten(state)]

    results = cond_ops.cond(
        math_ops.cast(feed_previous, dtypes.bool_), lambda: branch(True), lambda: branch(False)
    )
    count = len(results) - len(nest.flatten(like))
    return list(results[:count]), nest.pack_sequence_as(like, results[count:])
