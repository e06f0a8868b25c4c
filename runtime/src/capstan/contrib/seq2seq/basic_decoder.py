"""`BasicDecoder` (contrib/seq2seq/python/ops/basic_decoder.py)."""

import collections
from typing import Any

from capstan.api import nest
from capstan.api.scoped import scoped
from capstan.contrib.seq2seq import decoder, helpers
from capstan.core import tensor_shape

BasicDecoderOutput = collections.namedtuple("BasicDecoderOutput", ("rnn_output", "sample_id"))
"""The outputs of a step: those of the cell or of the output layer, and the samples."""

BasicDecoderOutput.__module__ = __name__


class BasicDecoder(decoder.Decoder):
    """A decoder that calls a cell and an optional layer, with the inputs that a helper gives.

    Raises:
        TypeError: `helper` is not a Helper, or `output_layer` is not a Layer.
    """

    def __init__(
        self, cell: Any, helper: helpers.Helper, initial_state: Any, output_layer: Any = None
    ) -> None:
        if not isinstance(helper, helpers.Helper):
            raise TypeError(f"helper must be a Helper, received: {type(helper)}")
        decoder.check_output_layer(output_layer)
        self._cell = cell
        self._helper = helper
        self._initial_state = initial_state
        self._output_layer = output_layer

    @property
    def batch_size(self) -> Any:
        return self._helper.batch_size

    def _sizes(self) -> Any:
        size = self._cell.output_size
        if self._output_layer is None:
            return size
        shape = self._output_layer.compute_output_shape([None, size])
        return tensor_shape.TensorShape(shape.as_list()[1:])

    @property
    def output_size(self) -> Any:
        return BasicDecoderOutput(self._sizes(), self._helper.sample_ids_shape)

    @property
    def output_dtype(self) -> Any:
        dtype = nest.flatten(self._initial_state)[0].dtype.base_dtype
        return BasicDecoderOutput(dtype, self._helper.sample_ids_dtype)

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        return (*self._helper.initialize(), self._initial_state)

    def step(
        self, time: Any, inputs: Any, state: Any, name: str | None = None
    ) -> tuple[Any, Any, Any, Any]:
        with scoped(name, "BasicDecoderStep", (time,)):
            outputs, new_state = self._cell(inputs, state)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            samples = self._helper.sample(time, outputs, new_state)
            finished, next_inputs, next_state = self._helper.next_inputs(
                time, outputs, new_state, samples
            )
        return BasicDecoderOutput(outputs, samples), next_state, next_inputs, finished
