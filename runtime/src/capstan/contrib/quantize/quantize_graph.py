"""Rewrite a graph for simulated quantization (contrib/quantize/python/quantize_graph.py)."""

from typing import Any

from capstan.contrib.quantize import batch_norms, quantize
from capstan.framework import graph as graphs


def create_training_graph(input_graph: Any = None, quant_delay: int = 0) -> None:
    """Change the training graph of a model, in place, so that it simulates 8 bits.

    Call it before gradients are added and before a session runs the graph. The default is the
    default graph. After `quant_delay` steps, the weights and the activations of convolutions and
    matrix products are rounded to 256 levels. New variables keep their ranges. A fused batch
    normalization behind such an operation becomes a part of the weights.

    Raises:
        ValueError: the graph has an operation that trains.
    """
    experimental_create_training_graph(input_graph, quant_delay=quant_delay)


def create_eval_graph(input_graph: Any = None) -> None:
    """Change a graph for evaluation, in place, so that it uses the ranges of a checkpoint.

    Raises: as `create_training_graph`.
    """
    experimental_create_eval_graph(input_graph)


def experimental_create_training_graph(
    input_graph: Any = None,
    weight_bits: int = 8,
    activation_bits: int = 8,
    symmetric: bool = False,
    quant_delay: int = 0,
    freeze_bn_delay: None = None,
    scope: str | None = None,
) -> None:
    """Do as `create_training_graph`, with other numbers of bits, and only for a `scope`.

    If `symmetric` is true, the ranges have 0 in the middle.

    Raises:
        ValueError: as `create_training_graph`, or there is a `freeze_bn_delay`, which Capstan does
            not have.
    """
    if freeze_bn_delay is not None:
        raise ValueError("freeze_bn_delay is not supported. Leave it out")
    options = quantize.Options(True, weight_bits, activation_bits, symmetric, quant_delay, scope)
    _rewrite(input_graph, options)


def experimental_create_eval_graph(
    input_graph: Any = None,
    weight_bits: int = 8,
    activation_bits: int = 8,
    symmetric: bool = False,
    quant_delay: int | None = None,
    scope: str | None = None,
) -> None:
    """Do as `create_eval_graph`, with the options of `experimental_create_training_graph`.

    Raises: as `create_training_graph`.
    """
    options = quantize.Options(
        False, weight_bits, activation_bits, symmetric, quant_delay or 0, scope
    )
    _rewrite(input_graph, options)


def _rewrite(graph: Any, options: quantize.Options) -> None:
    graph = graphs.get_default_graph() if graph is None else graph
    trains = sorted({op.type for op in graph.get_operations() if _trains(op.type)})
    if trains:
        raise ValueError(f"Training op found in graph, exiting {trains}")
    with graph.as_default():
        folded = batch_norms.fold(graph, is_training=options.is_training)
        quantize.quantize(graph, options, folded)


def _trains(op_type: str) -> bool:
    start = op_type.removeprefix("Resource").removeprefix("Sparse")
    return start.startswith("Apply") and start != "Apply"
