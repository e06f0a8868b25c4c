"""The rules by which ops on matrices and examples compute all iterations of a loop at once."""

from collections.abc import Sequence
from typing import Any

from capstan.core import dtypes
from capstan.framework.ops import stacked
from capstan.framework.ops.stacked import Loop, Operand, Operands, define

_all_alike = stacked.of_known_ranks(stacked.all_alike)
_only_first = stacked.of_known_ranks(stacked.only_first)


def _matmul(loop: Loop, op: Any, operands: Operands) -> list[Operand]:
    """Multiply the matrices of all iterations. Equal right sides make it one large product."""
    raw, (left, right) = loop.raw, operands
    turns = {name: op.get_attr(f"transpose_{name}") for name in ("a", "b")}
    if not right.is_stacked and not turns["a"]:
        sizes = stacked.from_axis(loop, raw.Shape(left.tensor), 0, 2)
        tensors = [stacked.merged(loop, left.tensor), right.tensor]
        return stacked.stacked([stacked.split(loop, loop.again(op, tensors)[0], sizes)])
    turned = [
        raw.Transpose(operand.tensor, [0, 2, 1] if operand.is_stacked else [1, 0])
        if turns[name] and op.outputs[0].dtype.is_complex
        else operand.tensor
        for name, operand in zip(turns, operands, strict=True)
    ]
    flags = {
        f"adj_{side}": turns[name] and not op.outputs[0].dtype.is_complex
        for side, name in (("x", "a"), ("y", "b"))
    }
    return stacked.stacked([raw.BatchMatMulV2(*turned, **flags)])


def _batch_matmul(loop: Loop, op: Any, operands: Operands) -> list[Operand] | None:
    ranks = [tensor.shape.ndims for tensor in op.inputs]
    if None in ranks:
        return None
    tensors = [
        stacked.of_rank(loop, operand, rank, max(ranks))
        for operand, rank in zip(operands, ranks, strict=True)
    ]
    flags = {name: op.get_attr(name) for name in ("adj_x", "adj_y")}
    return stacked.stacked([loop.raw.BatchMatMulV2(*tensors, **flags)])


def _bias_add(loop: Loop, op: Any, operands: Operands) -> list[Operand] | None:
    value, bias = operands
    rank = op.inputs[0].shape.ndims
    if op.get_attr("data_format") != b"NHWC" or rank is None:
        return None
    if not bias.is_stacked:
        return stacked.stacked(loop.again(op, [value.tensor, bias.tensor]))
    shaped = stacked.of_rank(loop, bias, 1, rank)
    return stacked.stacked([loop.raw.Add(value.tensor, shaped)])


def _bias_add_grad(loop: Loop, op: Any, operands: Operands) -> list[Operand] | None:
    rank = op.inputs[0].shape.ndims
    if op.get_attr("data_format") != b"NHWC" or rank is None:
        return None
    return stacked.stacked([loop.raw.Sum(operands[0].tensor, list(range(1, rank)))])


def _l2_loss(loop: Loop, op: Any, operands: Operands) -> list[Operand] | None:
    rank = op.inputs[0].shape.ndims
    if rank is None:
        return None
    squares = loop.raw.Square(operands[0].tensor)
    return stacked.stacked([loop.raw.RealDiv(loop.raw.Sum(squares, list(range(1, rank + 1))), 2)])


def _input_gradient(loop: Loop, op: Any, operands: Operands) -> list[Operand] | None:
    """The gradient of the input of a convolution, or of a mean over windows."""
    *parameters, grad = operands
    if any(operand.is_stacked for operand in parameters):
        return None
    raw, (shape, *rest) = loop.raw, parameters
    sizes = stacked.joined(loop, [loop.count], stacked.from_axis(loop, shape.tensor, 0, 1))
    batch = raw.Prod(sizes, [0], keep_dims=True)
    whole = raw.ConcatV2([batch, stacked.from_axis(loop, shape.tensor, 1)], 0)
    tensors = [whole, *(operand.tensor for operand in rest), stacked.merged(loop, grad.tensor)]
    return stacked.stacked([stacked.split(loop, loop.again(op, tensors)[0], sizes)])


def _contrast(loop: Loop, op: Any, operands: Operands) -> Sequence[Operand] | None:
    images, factor = operands
    rank = op.inputs[0].shape.ndims
    if not factor.is_stacked:
        return _only_first(loop, op, operands)
    if rank is None or not images.is_stacked:
        return None
    raw, dtype = loop.raw, images.tensor.dtype
    pixels = raw.Cast(images.tensor, DstT=dtypes.float32)
    mean = raw.Mean(pixels, [-3, -2], keep_dims=True)
    factors = stacked.of_rank(loop, factor, 0, rank)
    changed = raw.Add(raw.Mul(raw.Sub(pixels, mean), factors), mean)
    return stacked.stacked([raw.Cast(changed, DstT=dtype)])


_entropies = stacked.in_one_batch(0, 1)


def _entropy(loop: Loop, op: Any, operands: Operands) -> Sequence[Operand] | None:
    """The logits or the labels of one example may stand for all."""
    batches = [tensor.shape.with_rank(2).as_list()[0] for tensor in op.inputs]
    is_plain = batches[0] == batches[1] or None in batches
    return _entropies(loop, op, operands) if is_plain else None


for _names, _rule in (
    (("MatMul",), _matmul),
    (("BatchMatMul", "BatchMatMulV2"), _batch_matmul),
    (("BiasAdd",), _bias_add),
    (("BiasAddGrad",), _bias_add_grad),
    (("L2Loss",), _l2_loss),
    (("Softmax", "LogSoftmax"), _all_alike),
    (("Cholesky", "CholeskyGrad", "MatrixInverse", "MatrixDeterminant"), _all_alike),
    (("MatrixSolve", "MatrixTriangularSolve", "MatrixSetDiag"), _all_alike),
    (("MatrixDiag", "MatrixDiagPart", "SelfAdjointEigV2", "Svd", "Qr"), _all_alike),
    (("FFT", "IFFT"), _all_alike),
    (("MatrixBandPart",), _only_first),
    (("SoftmaxCrossEntropyWithLogits",), _entropy),
    (("SparseSoftmaxCrossEntropyWithLogits",), stacked.in_one_batch(0, 1)),
    (("Conv2D", "Conv3D", "DepthwiseConv2dNative"), stacked.in_one_batch(0)),
    (("MaxPool", "AvgPool", "LRN"), stacked.in_one_batch(0)),
    (("ResizeBilinear", "ResizeNearestNeighbor"), stacked.in_one_batch(0)),
    (("ResizeBicubic", "ResizeArea"), stacked.in_one_batch(0)),
    (("AdjustContrastv2",), _contrast),
    (("AdjustHue", "AdjustSaturation"), _only_first),
    (("DataFormatVecPermute", "QuantizeAndDequantize"), stacked.one_by_one),
    (("MaxPoolGrad", "LRNGrad"), stacked.in_one_batch(0, 1, 2)),
    (("AvgPoolGrad", "Conv2DBackpropInput"), _input_gradient),
    (("DepthwiseConv2dNativeBackpropInput",), _input_gradient),
):
    define(_rule, *_names)
