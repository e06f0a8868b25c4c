"""Biases, softmaxes and losses of neural networks."""

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from capstan.framework import opdef
from op_cases.drawing import Case, Draw, Strategy, numbers


@st.composite
def biased(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give = draw(numbers(row, dtype))
    layout = draw(st.sampled_from(["NHWC", "NCHW"]))
    rank = 3 if layout == "NCHW" else 2
    shape = draw(arrays.array_shapes(min_dims=rank, max_dims=4, min_side=0, max_side=3))
    bias = give.array((shape[1 if layout == "NCHW" else -1],))
    operands = [give.array(shape)] + ([bias] if len(row.inputs) == 2 else [])
    return Case(operands, {"data_format": layout})


@st.composite
def rows_of_logits(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    shape = draw(arrays.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4))
    return Case([draw(numbers(row, dtype)).array(shape)])


@st.composite
def dense_loss(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give, shape = draw(numbers(row, dtype)), (draw(st.integers(0, 4)), draw(st.integers(1, 4)))
    # The gradient rule of the op assumes that the labels are a distribution.
    labels = np.abs(give.array(shape)) + give.dtype.type(1)
    return Case([give.array(shape), labels / labels.sum(1, keepdims=True)])


@st.composite
def sparse_loss(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give, shape = draw(numbers(row, dtype)), (draw(st.integers(0, 4)), draw(st.integers(1, 4)))
    index = draw(st.sampled_from([np.int32, np.int64]))
    labels = give.random.integers(0, shape[1], shape[0]).astype(index)
    return Case([give.array(shape), labels], structural=frozenset({1}))


@st.composite
def accidental_hits(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    random = np.random.default_rng(draw(st.integers(0, 1000)))
    labels = random.integers(0, 5, (draw(st.integers(1, 3)), 1)).astype(np.int64)
    drawn = random.permutation(5)[: draw(st.integers(1, 4))].astype(np.int64)
    return Case([labels, drawn], {"num_true": 1})


CASES: dict[str, Strategy] = {
    **dict.fromkeys(("BiasAdd", "BiasAddGrad"), biased),
    **dict.fromkeys(("Softmax", "LogSoftmax"), rows_of_logits),
    "SoftmaxCrossEntropyWithLogits": dense_loss,
    "SparseSoftmaxCrossEntropyWithLogits": sparse_loss,
    "ComputeAccidentalHits": accidental_hits,
}
