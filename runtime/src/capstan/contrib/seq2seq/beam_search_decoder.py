"""`BeamSearchDecoder` (contrib/seq2seq/python/ops/beam_search_decoder.py)."""

import collections
import math
from typing import Any

import numpy as np

from capstan.api import array_ops, cond_ops, creation_ops, math_ops, nest, reduce_ops
from capstan.api import logging as tf_logging
from capstan.api import tensor_array_ops as arrays
from capstan.api.scoped import scoped
from capstan.contrib.seq2seq import beam_step, beams, decoder, helpers
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert
from capstan.framework.raw import raw

FinalBeamSearchDecoderOutput = collections.namedtuple(
    "FinalBeamSearchDecoderOutput", ("predicted_ids", "beam_search_decoder_output")
)
"""The ids of all beams of the shape [batch, time, beam], best beam first, and the outputs of the
steps."""

FinalBeamSearchDecoderOutput.__module__ = __name__


class BeamSearchDecoder(decoder.Decoder):
    """A decoder that keeps the best `beam_width` sequences of each example.

    `start_tokens` is an int32 vector [batch], and `end_token` an int32 scalar. `embedding` is a
    table of vectors, or a function from ids to vectors. The tensors of `initial_state` have the
    shape [batch * beam, ...]: apply `tile_batch` to the memory of an attention and to the state of
    an encoder. The score of a sequence is its logarithmic probability, divided by
    ((5 + length) / 6) ** length_penalty_weight. With `coverage_penalty_weight`, places of the
    memory without much attention lower the scores of finished sequences. With
    `reorder_tensor_arrays`, the final state holds, for each TensorArray whose elements have a
    shape [batch * beam, ...], the stacked elements in the order of the final beams.

    Raises:
        TypeError: `cell` is not an RNNCell, or `output_layer` is not a Layer.
        ValueError: the start tokens are not a vector, the end token is not a scalar, or a tensor of
            the state does not have the shape [batch * beam, ...].
    """

    def __init__(
        self, cell: Any, embedding: Any, start_tokens: Any, end_token: Any, initial_state: Any,
        beam_width: int, output_layer: Any = None, length_penalty_weight: Any = 0.0,
        coverage_penalty_weight: Any = 0.0, reorder_tensor_arrays: bool = True,
    ) -> None:  # fmt: skip
        if not (callable(cell) and hasattr(cell, "output_size") and hasattr(cell, "state_size")):
            raise TypeError(f"The argument 'cell' ({cell}) is not an RNNCell")
        decoder.check_output_layer(output_layer)
        self._cell = cell
        self._output_layer = output_layer
        self._reorders = reorder_tensor_arrays
        self._embed = helpers.embedder(embedding)
        starts, end = helpers.tokens(start_tokens, end_token)
        self._search = beam_step.Search(
            array_ops.size(starts), beam_width, end, length_penalty_weight, coverage_penalty_weight
        )
        self._state = nest.map_structure(self._split, initial_state, cell.state_size)
        self._start_inputs = self._embed(raw.Tile(raw.ExpandDims(starts, 1), [1, beam_width]))

    @property
    def batch_size(self) -> Any:
        return self._search.batch_size

    @property
    def tracks_own_finished(self) -> bool:
        """Return True: a beam may continue another one, which is not finished."""
        return True

    @property
    def output_size(self) -> Any:
        size = tensor_shape.TensorShape([self._search.width])
        return beam_step.BeamSearchDecoderOutput(size, size, size)

    @property
    def output_dtype(self) -> Any:
        return beam_step.BeamSearchDecoderOutput(self._dtype(), dtypes.int32, dtypes.int32)

    def _dtype(self) -> Any:
        return nest.flatten(self._state)[0].dtype.base_dtype

    def _split(self, value: Any, size: Any) -> Any:
        if isinstance(value, arrays.TensorArray) or not _rank(value):
            return value
        return beams.split(value, self._search.batch_size, self._search.width, size)

    def _merge(self, value: Any, size: Any) -> Any:
        if isinstance(value, arrays.TensorArray) or _rank(value) < 2:
            return value
        return beams.merge(value, self._search.batch_size, self._search.width, size)

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        sizes = raw.Pack([self._search.batch_size, self._search.width])
        width, dtype = self._search.width, self._dtype()
        # All beams are equal at first, so the first step continues only the first one.
        is_first = np.arange(width) == 0
        start = np.where(is_first, 0.0, -math.inf).astype(dtype.as_numpy_dtype)
        finished = raw.BroadcastTo(~is_first, sizes)
        shares = beam_step.attention_shares(self._search, self._state)
        state = beam_step.BeamSearchDecoderState(
            cell_state=self._state,
            log_probs=raw.BroadcastTo(start, sizes),
            finished=finished,
            lengths=creation_ops.zeros(sizes, dtypes.int64),
            accumulated_attention_probs=() if shares is None else shares,
        )
        return finished, self._start_inputs, state

    def step(
        self, time: Any, inputs: Any, state: Any, name: str | None = None
    ) -> tuple[Any, Any, Any, Any]:
        sizes, search = self._cell.state_size, self._search
        with scoped(name, "BeamSearchDecoderStep", (time,)):
            inputs = nest.map_structure(lambda value: self._merge(value, value.shape[2:]), inputs)
            cell_state = nest.map_structure(self._merge, state.cell_state, sizes)
            outputs, next_cell_state = self._cell(inputs, cell_state)
            outputs = self._split(outputs, outputs.shape[1:])
            next_cell_state = nest.map_structure(self._split, next_cell_state, sizes)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            output, next_state = beam_step.advance(search, outputs, next_cell_state, state)
            next_inputs = cond_ops.cond(
                reduce_ops.reduce_all(next_state.finished),
                lambda: nest.map_structure(raw.Identity, self._start_inputs),
                lambda: self._embed(output.predicted_ids),
            )
        return output, next_state, next_inputs, next_state.finished

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> tuple[Any, Any]:
        """Return the ids along the final beams. The lengths are those of the state."""
        last = math_ops.cast(reduce_ops.reduce_max(final_state.lengths, axis=1), dtypes.int32)
        ids = beams.gather_tree(
            outputs.predicted_ids, outputs.parent_ids, last, self._search.end_token
        )
        if self._reorders:
            cell_state = nest.map_structure(
                lambda value: self._ordered(value, outputs.parent_ids, final_state.lengths),
                final_state.cell_state,
            )
            final_state = final_state._replace(cell_state=cell_state)
        return FinalBeamSearchDecoderOutput(ids, outputs), final_state

    def _ordered(self, value: Any, parents: Any, lengths: Any) -> Any:
        if not isinstance(value, arrays.TensorArray):
            return value
        batch = convert.constant_value(self._search.batch_size)
        if not _holds_beams(value.element_shape, batch, self._search.width):
            tf_logging.warning(
                "A TensorArray of the cell's state is not put in the order of the beams, because "
                "its elements have the shape %s, which is not [batch_size * beam_width, ...]. Set "
                "reorder_tensor_arrays to False to leave all arrays as they are.",
                value.element_shape,
            )
            return value
        return beams.gather_tree_from_array(value.stack(), parents, lengths)


def _rank(value: Any) -> int:
    if value.shape.ndims is None:
        raise ValueError(f"Expected tensor ({value.name}) to have known rank. Set its shape")
    return int(value.shape.ndims)


def _holds_beams(shape: Any, batch: Any, width: int) -> bool:
    """Whether elements of this static shape may have the shape [batch, beam, ...]."""
    if not shape.ndims:
        return False
    first, *rest = shape.as_list()
    if batch is None or first is None or first == batch * width:
        return True
    return first == batch and bool(rest) and rest[0] in (None, width)
