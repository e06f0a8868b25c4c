"""The gradient rule of each row agrees with difference quotients of its kernel, in float64."""

from typing import Any

import examples
import interpreter
import numpy as np
import op_cases
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from capstan.core import dtypes, shapes, tensor_shape
from capstan.framework import convert, gradients, indexed_slices, opdef, ops  # noqa: F401
from capstan.framework import graph as graphs
from capstan.framework.ops import training
from capstan.framework.raw import raw

STEP = 1e-5

differentiable = [
    row.name for row in opdef.all_rows() if row.gradient and row.name in op_cases.CASES
]
flat = [
    row.name
    for row in opdef.all_rows()
    if row.not_differentiable and row.name in op_cases.CASES and row.name != "Assert"
]
no_gradient = [
    row.name for row in opdef.all_rows() if not row.gradient and not row.not_differentiable
]


class Function:
    """An op as a function of its float64 arguments: the sum of its outputs with random weights."""

    def __init__(self, op: str, case: op_cases.Case, *, is_shape_known: bool) -> None:
        self.values: dict[Any, Any] = {}
        self.runner = interpreter.Interpreter()
        arguments = [
            [self._argument(index, each, case, is_shape_known) for each in value]
            if isinstance(value, list)
            else self._argument(index, value, case, is_shape_known)
            for index, value in enumerate(case.inputs)
        ]
        result = getattr(raw, op)(*arguments, **case.attrs)
        parts = result if isinstance(result, list | tuple) else [result]
        outputs = [t for part in parts for t in (part if isinstance(part, list) else [part])]
        self.ys = [tensor for tensor in outputs if tensor.dtype is dtypes.float64]
        self.xs = list(self.values)
        results = self.runner.run(self.ys, self.values)
        random = np.random.default_rng(7)
        self.weights = [np.asarray(random.normal(size=result.shape)) for result in results]

    def _argument(self, index: int, value: Any, case: Any, is_shape_known: bool) -> Any:
        if value.dtype != np.float64 or index in case.structural:
            return convert.constant(value)
        shape = tensor_shape.TensorShape(value.shape if is_shape_known else None)
        tensor = raw.Placeholder(dtype=dtypes.float64, shape=shape)
        self.values[tensor] = value
        return tensor

    def terms(self, values: Any) -> list[Any]:
        results = self.runner.run(self.ys, values)
        return [r * w for r, w in zip(results, self.weights, strict=True)]

    def __call__(self, values: Any) -> float:
        return float(sum(terms.sum() for terms in self.terms(values)))

    def rounding(self) -> float:
        """Return what rounding may add to a quotient: the sum of large outputs is not exact."""
        total = sum(float(np.abs(terms).sum()) for terms in self.terms(self.values))
        return total * np.finfo(np.float64).eps * 5 / STEP

    def gradients(self) -> list[Any]:
        computed = gradients.gradients(self.ys, self.xs, self.weights)
        assert None not in computed, "an output does not depend on one of the arguments"
        for gradient, x in zip(computed, self.xs, strict=True):
            assert shapes.is_compatible(gradient.shape.internal, self.values[x].shape)
        dense = [convert.convert_to_tensor(gradient) for gradient in computed]
        results: list[Any] = self.runner.run(dense, self.values)
        return results

    def differences(self, x: Any) -> Any:
        quotients = np.zeros(self.values[x].shape)
        for place in np.ndindex(quotients.shape):
            ends = []
            for sign in (1, -1):
                moved = self.values[x].copy()
                moved[place] += sign * STEP
                ends.append(self({**self.values, x: moved}))
            quotients[place] = (ends[0] - ends[1]) / (2 * STEP)
        return quotients


@pytest.mark.e2e
@pytest.mark.parametrize("op", differentiable)
@settings(max_examples=examples.share(6), deadline=None)
@given(data=st.data(), is_shape_known=st.booleans())
def test_gradients_agree_with_difference_quotients(
    op: str, data: Any, is_shape_known: bool
) -> None:
    case = data.draw(op_cases.CASES[op](opdef.lookup(op), dtypes.float64))
    if op == "CumulativeLogsumexp":
        # The first sum is the logarithm of 0, whose difference quotient is no number.
        assume(not case.attrs["exclusive"])
    with graphs.Graph().as_default():
        function = Function(op, case, is_shape_known=is_shape_known)
        least = 1e-6 + function.rounding()
        for x, gradient in zip(function.xs, function.gradients(), strict=True):
            assert gradient.shape == function.values[x].shape
            np.testing.assert_allclose(gradient, function.differences(x), rtol=1e-5, atol=least)


@pytest.mark.e2e
@pytest.mark.parametrize("op", flat)
@settings(max_examples=examples.share(2), deadline=None)
@given(data=st.data())
def test_the_gradient_of_a_not_differentiable_op_is_none(op: str, data: Any) -> None:
    case = data.draw(op_cases.CASES[op](opdef.lookup(op)))
    with graphs.Graph().as_default():
        arguments = [
            [convert.constant(each) for each in value]
            if isinstance(value, list)
            else convert.constant(value)
            for value in case.inputs
        ]
        result = getattr(raw, op)(*arguments, **case.attrs)
        xs = arguments[0] if isinstance(arguments[0], list) else [arguments[0]]
        ys = [
            t
            for part in (result if isinstance(result, list | tuple) else [result])
            for t in (part if isinstance(part, list) else [part])
            if t.dtype.is_floating
        ]
        for y in ys:
            assert gradients.gradients(y, xs) == [None] * len(xs)


def test_few_ops_have_no_gradient_rule() -> None:
    on_handles = {name for name in no_gradient if not opdef.lookup(name).outputs}
    # The gradient of a call is built from the functions that it names.
    calls = {row.name for row in opdef.all_rows() if row.effect.calls}
    made_by_the_compiler = {name for name in no_gradient if name[0] == "_"}
    updates = {row.name for row in training.UPDATES}
    files = (
        *("oracle/test_images.py", "oracle/test_layers.py", "oracle/test_old_tensor_arrays.py"),
        "oracle/test_quantized.py",
    )
    images = set().union(*(op_cases.ELSEWHERE[file] for file in files))
    # Nor do gradients of sparse lookups, and these reductions, have one in TensorFlow.
    lookups = {name for name in no_gradient if name.startswith(("SparseSegment", "SparseReduce"))}
    trees = {name for name in no_gradient if "BoostedTrees" in name}
    others = set(no_gradient) - on_handles - calls - made_by_the_compiler - updates - images - trees
    assert others - lookups <= {
        "BatchCholeskyGrad", "BatchFunction", "BatchNormWithGlobalNormalizationGrad",
        "BatchSelfAdjointEig", "FFTND", "IFFTND", "IRFFTND", "MatrixExponential", "Mod",
        "RFFTND", "SelfAdjointEig", "TileGrad",
        "AdjustContrast", "BlockLSTMGrad", "BlockLSTMGradV2", "Conv3DBackpropFilter",
        "Conv3DBackpropInput", "FusedPadConv2D", "FusedResizeAndPadConv2D", "GRUBlockCellGrad",
        "LSTMBlockCellGrad", "MaxPoolGradGradWithArgmax", "ScaleAndTranslateGrad",
        "EmptyTensorMap", "TensorMapHasKey", "TensorMapSize", "TensorMapStackKeys",
        "Assign", "AssignAdd", "AssignSub", "AudioSpectrogram", "Bitcast", "CholeskyGrad",
        "CollectiveBcastRecv", "CollectiveBcastSend", "CollectiveGather", "CollectiveReduce",
        "DecodeWav", "DeepCopy", "Empty", "EncodeWav", "Fingerprint", "InplaceAdd", "InplaceSub",
        "InplaceUpdate", "Mfcc",
            "CropAndResizeGradBoxes", "CropAndResizeGradImage", "Dilation2DBackpropFilter",
        "Dilation2DBackpropInput", "EagerPyFunc",
        "FakeQuantWithMinMaxArgsGradient", "FakeQuantWithMinMaxVarsGradient", "UnbatchGrad",
        "FakeQuantWithMinMaxVarsPerChannelGradient", "FractionalAvgPoolGrad",
        "FractionalMaxPoolGrad", "GatherTree", "GuaranteeConst",
        "HistogramFixedWidth", "IgammaGradA", "KMC2ChainInitialization",
        "KmeansPlusPlusInitialization", "LowerBound", "Lu",
        "MaskedMatmul", "MatrixLogarithm", "MaxPoolGradGradV2", "MaxPoolGradWithArgmax", "Merge",
        "NearestNeighbors", "ParallelConcat", "RaggedTensorToTensor", "RandomGammaGrad",
        "QuantizeAndDequantizeV4Grad", "RefSwitch", "ResizeBicubicGrad",
        "ResizeNearestNeighborGrad",
        "ScatterAdd", "ScatterSub", "ScatterUpdate", "SdcaFprint", "SdcaOptimizer",
        "SdcaOptimizerV2", "SegmentProd", "SparseDenseCwiseAdd",
        "SparseSparseMaximum", "SparseSparseMinimum", "SparseSplit", "StatelessWhile",
        "StridedSliceAssign", "Switch", "UnravelIndex", "UpperBound",
        "WALSComputePartialLhsAndRhs",
    }  # fmt: skip


@pytest.mark.e2e
def test_the_gradient_of_a_lookup_is_slices() -> None:
    with graphs.Graph().as_default():
        table = convert.constant(np.arange(6.0).reshape(3, 2))
        for rows in (raw.Gather(table, [2, 0, 2]), raw.GatherV2(table, [2, 0, 2], 0)):
            (slope,) = gradients.gradients(rows, table)
            assert isinstance(slope, indexed_slices.IndexedSlices)
            runner = interpreter.Interpreter()
            np.testing.assert_array_equal(runner.run(slope.indices), [2, 0, 2])
            np.testing.assert_array_equal(runner.run(slope.values), np.ones((3, 2)))
            dense = runner.run(convert.convert_to_tensor(slope))
            np.testing.assert_array_equal(dense, [[1, 1], [0, 0], [2, 2]])


def test_equal_maxima_share_the_gradient() -> None:
    with graphs.Graph().as_default():
        x = convert.constant([[1.0, 3.0, 3.0], [2.0, 0.0, 1.0]])
        (slope,) = gradients.gradients(raw.Max(x, [1]), x)
        np.testing.assert_array_equal(
            interpreter.Interpreter().run(slope), [[0, 0.5, 0.5], [1, 0, 0]]
        )


def test_the_gradient_of_equal_operands_goes_to_the_first() -> None:
    with graphs.Graph().as_default():
        x, y = convert.constant([1.0]), convert.constant([1.0])
        for op in (raw.Maximum, raw.Minimum):
            slopes = gradients.gradients(op(x, y), [x, y])
            assert interpreter.Interpreter().run(slopes) == [[1], [0]]


def test_the_gradient_of_a_product_is_correct_at_zeros() -> None:
    with graphs.Graph().as_default():
        x = convert.constant([[2.0, 0.0, 3.0], [0.0, 0.0, 1.0]])
        (slope,) = gradients.gradients(raw.Prod(x, [1]), x)
        np.testing.assert_array_equal(interpreter.Interpreter().run(slope), [[0, 6, 0], [0, 0, 0]])


@pytest.mark.e2e
def test_the_gradient_of_softmax_losses_can_be_differentiated_again() -> None:
    random = np.random.default_rng(3)
    logits, labels = random.normal(size=(3, 4)), random.random((3, 4))
    with graphs.Graph().as_default():
        x = raw.Placeholder(dtype=dtypes.float64, shape=tensor_shape.TensorShape([3, 4]))
        for op, target in (
            (raw.SoftmaxCrossEntropyWithLogits, labels),
            (raw.SparseSoftmaxCrossEntropyWithLogits, np.array([1, 0, 3])),
        ):
            loss, _ = op(x, target)
            (first,) = gradients.gradients(loss, x)
            (second,) = gradients.gradients(raw.Square(first), x)
            runner = interpreter.Interpreter()
            expected = np.zeros((3, 4))
            for place in np.ndindex(3, 4):
                ends = []
                for sign in (1, -1):
                    moved = logits.copy()
                    moved[place] += sign * STEP
                    ends.append((runner.run(first, {x: moved}) ** 2).sum())
                expected[place] = (ends[0] - ends[1]) / (2 * STEP)
            np.testing.assert_allclose(runner.run(second, {x: logits}), expected, atol=1e-6)


@pytest.mark.e2e
@pytest.mark.parametrize("shape", [(2, 2), (1, 2), (2,)])
def test_an_updated_slice_passes_its_gradient_to_the_value(shape: tuple[int, ...]) -> None:
    with graphs.Graph().as_default():
        x = convert.constant(np.arange(12.0).reshape(3, 4))
        value = convert.constant(np.ones(shape))
        y = raw.TensorStridedSliceUpdate(x, [0, 1], [2, 4], [1, 2], value)
        weights = np.arange(1.0, 13).reshape(3, 4)
        by_x, by_value = gradients.gradients(raw.Mul(y, weights), [x, value])
        runner = interpreter.Interpreter()
        part = weights[0:2, 1:4:2]
        kept = weights.copy()
        kept[0:2, 1:4:2] = 0
        np.testing.assert_array_equal(runner.run(by_x), kept)
        expected = part if shape == (2, 2) else part.sum(0).reshape(shape)
        np.testing.assert_array_equal(runner.run(by_value), expected)


@pytest.mark.e2e
def test_gamma_numbers_without_a_state_have_a_gradient_for_each_parameter() -> None:
    with graphs.Graph().as_default():
        alpha = convert.constant(np.array([0.5, 3.0]))
        drawn = raw.StatelessRandomGammaV2([7, 2], [1, 2], alpha)
        (slope,) = gradients.gradients(drawn, alpha)
        each = raw.RandomGammaGrad(alpha, drawn)
        runner = interpreter.Interpreter()
        found, expected = runner.run(slope), runner.run(each)
    np.testing.assert_allclose(found, expected.sum(0))
