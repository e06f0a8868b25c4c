"""Add the rounding of weights and activations to a graph (contrib/quantize/python/quantize.py)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from capstan.api import cond_ops, init_ops, state_ops, variable_scope
from capstan.contrib.graph_editor import reroute
from capstan.contrib.quantize import batch_norms, quant_ops
from capstan.core import dtypes
from capstan.framework import collections as keys
from capstan.framework.raw import raw

_SUMS: Final = ("Add", "AddV2")
_BIASES: Final = ("BiasAdd", *_SUMS)
_RELUS: Final = ("Relu", "Relu6")
_ACTIVATIONS: Final = (*_RELUS, "Identity")
_PASSED: Final = ("Reshape", "Identity", "BatchToSpaceND", "SpaceToBatchND", "MaxPool", "Max")
_ROUNDED: Final = (
    "FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVarsPerChannel",
)  # fmt: skip
_PRODUCER: Final = frozenset(("producer",))
_READERS: Final = frozenset(("readers",))
_BOTH: Final = _PRODUCER | _READERS
"""The ends of the tensor that is rounded, where the names count if only a scope is rounded."""
_STEP: Final = "fake_quantization_step"


@dataclass(frozen=True, slots=True)
class Options:
    """What to round, and to how many bits. Names of operations outside of `scope` stay as is."""

    is_training: bool
    weight_bits: int = 8
    activation_bits: int = 8
    symmetric: bool = False
    quant_delay: int = 0
    scope: str | None = None


def quantize(graph: Any, options: Options, folded: Mapping[Any, Any]) -> None:
    """Round the weights, and the activations, of all layers of a graph, and sums of activations.

    `folded` has the last operation of each layer whose normalization is folded.
    """
    rewriting = _Rewriting(graph, options)
    layers = [op for op in graph.get_operations() if op.type in batch_norms.LAYERS]
    for layer in layers:
        if layer.outputs[0].consumers() and _has_weights(layer):
            rewriting.add_layer(layer, folded.get(layer))
    rewriting.add_sums()


class _Rewriting:
    """One graph while it is changed."""

    def __init__(self, graph: Any, options: Options) -> None:
        self._graph = graph
        self._options = options
        self._done: set[Any] = set()
        self._scope = f"{options.scope.rstrip('/')}/" if options.scope else ""
        self._outer = f"{graph.get_name_scope()}/"

    def add_layer(self, layer: Any, tail: Any) -> None:
        """Round the weights of a layer, its activation, and both sides of a sum before it."""
        context = layer.name.rpartition("/")[0]
        tail = tail or _reader(layer, _BIASES)
        last = _reader(tail, ("Identity",)) if tail is not None else None
        start = last if last is not None and _reader(last, _SUMS) else tail
        sums = _reader(start, _SUMS) if start is not None else None
        end = sums or tail or layer
        activation = _reader(end, _ACTIVATIONS)
        if activation is None:
            sums = None
            next_layer = _reader(layer, batch_norms.LAYERS)
            activation = tail or (layer if next_layer is not None else None)
        if activation is None or _was_folded(activation):
            return
        self._add(context, "weights_quant", layer.inputs[1].op, ends=_READERS)
        outer = context.rpartition("/")[0] if sums is not None else context
        after = _reader(activation, _SUMS)
        self._add(outer, "act_quant", activation, low=0.0)
        if sums is not None:
            self._add(context, "conv_quant", tail, ends=_BOTH)
            if _reader(sums, _ACTIVATIONS) is None:
                self._add(outer, "add_quant", sums, ends=_BOTH)
        if after is not None and _reader(after, _RELUS) is None and activation is not tail:
            self._add(after.name.rpartition("/")[0], "post_activation_bypass_quant", after)

    def add_sums(self) -> None:
        """Round the sums and products of rounded tensors that no layer has."""
        for op in self._graph.get_operations():
            if self._is_rounded_sum(op):
                self._add(op.name, f"activation_{op.type}_quant", op, symmetric=False)

    def _is_rounded_sum(self, op: Any) -> bool:
        if op in self._done or op.type not in (*_SUMS, "Mul"):
            return False
        readers = op.outputs[0].consumers()
        if len(readers) == 1 and readers[0].type in _RELUS:
            return False
        for tensor in op.inputs:
            source = tensor.op
            while source.type in _PASSED:
                source = source.inputs[0].op
            if source.type in _ROUNDED or "delayed_quant/Merge" in source.name:
                return True
            if source.type in (*_SUMS, "Mul") and any(
                self._is_rounded_sum(each.op) for each in source.inputs
            ):
                return True
        return False

    def _add(
        self, context: str, name: str, producer: Any, *, ends: frozenset[str] = _PRODUCER,
        low: float = -6.0, symmetric: bool | None = None,
    ) -> None:  # fmt: skip
        """Let the readers of an operation read its rounded output, if `ends` are in the scope.

        The value of a variable is rounded as weights.
        """
        readers, inputs = producer.outputs[0].consumers(), producer.outputs[0]
        is_weight = ends is _READERS
        self._done.add(producer)
        names = [producer.name] if ends & _PRODUCER else []
        names += [reader.name for reader in readers if ends & _READERS]
        if not all(each.startswith(self._scope) for each in names) or _is_rounded(inputs):
            return
        options = self._options
        prefix = (f"{context}/{name}" if context else name).removeprefix(self._outer)
        more: dict[str, Any] = {
            "init_min": low,
            "is_training": options.is_training,
            "name_prefix": prefix,
            "symmetric": options.symmetric if symmetric is None else symmetric,
            "vars_collection": None,
        }
        if is_weight:
            rounded = quant_ops.LastValueQuantize(
                inputs, num_bits=options.weight_bits, narrow_range=True, **more
            )
        else:
            rounded = quant_ops.MovingAvgQuantize(inputs, num_bits=options.activation_bits, **more)
        if options.quant_delay > 0:
            is_due = raw.GreaterEqual(
                _step(self._graph), options.quant_delay, name=f"{prefix}/activate_quant"
            )
            rounded = cond_ops.cond(
                is_due, lambda: rounded, lambda: inputs, name=f"{prefix}/delayed_quant"
            )
        reroute.reroute_ts([rounded], [inputs], can_modify=readers)


def _has_weights(layer: Any) -> bool:
    """Return whether the weights of a layer are a variable, or folded weights."""
    source = layer.inputs[1].op
    if source.type in ("ReadVariableOp", "Mul"):
        return True
    while source.type in ("Identity", "ConcatV2"):
        source = source.inputs[0].op
    return source.type in ("Variable", "VariableV2")


def _was_folded(op: Any) -> bool:
    """Return whether an operation only passes a layer on to a normalization, which is folded."""
    return op.type == "Identity" and _reader(op, batch_norms.NORMS) is not None


def _reader(op: Any, types: Sequence[str]) -> Any:
    """Return the first operation of these types that reads the output of `op`, or None."""
    return next((each for each in op.outputs[0].consumers() if each.type in types), None)


def _is_rounded(tensor: Any) -> bool:
    """Return whether a tensor is rounded already, maybe in another shape."""
    waiting = list(tensor.consumers())
    while waiting:
        reader = waiting.pop()
        if reader.type in _ROUNDED:
            return True
        if reader.type in ("Reshape", "Identity"):
            waiting.extend(each for output in reader.outputs for each in output.consumers())
    return False


def _step(graph: Any) -> Any:
    """Return the number of steps of the graph, which counts each step once."""
    try:
        return graph.get_tensor_by_name(f"{_STEP}/AssignAdd:0")
    except KeyError:
        with graph.name_scope(None):
            counter = variable_scope.get_variable(
                _STEP,
                shape=[],
                dtype=dtypes.int64,
                initializer=init_ops.zeros_initializer(),
                trainable=False,
                use_resource=False,
                collections=[keys.GraphKeys.GLOBAL_VARIABLES],
            )
            with graph.name_scope(f"{_STEP}/"):
                return state_ops.assign_add(counter, 1, name="AssignAdd")
