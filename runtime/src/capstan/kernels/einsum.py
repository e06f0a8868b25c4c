"""The kernel of `Einsum` (core/kernels/linalg/einsum_op_impl.h).

A product is one call of matmul, after the axes of both operands were put in order. The batch comes
first, then the axes that one operand has alone, then the axes to sum over. Views of the operands
suffice in most equations, such as those of attention, so nothing is copied.
"""

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from capstan.core.arrays import Array
from capstan.framework.ops import einsum_equation
from capstan.framework.ops.einsum_equation import Equation, Labels
from capstan.kernels import integer_products
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid


@dataclasses.dataclass(frozen=True, slots=True)
class _Operand:
    """How an operand becomes a factor: by diagonals, sums, an order of axes, and a shape."""

    diagonals: tuple[tuple[int, int], ...]
    sums: tuple[int, ...]
    order: tuple[int, ...]
    shape: tuple[int, ...]

    def factor(self, x: Array) -> Array:
        for first, second in self.diagonals:
            x = x.diagonal(0, first, second)
        if self.sums:
            x = np.sum(x, self.sums, dtype=x.dtype)
        if self.order != tuple(range(len(self.order))):
            x = x.transpose(self.order)
        return x if x.shape == self.shape else x.reshape(self.shape)


@dataclasses.dataclass(frozen=True, slots=True)
class _Plan:
    """The work for inputs of known shapes.

    The product of the factors has the shape `product`. Its axes are split to `split`, and put in
    `order`. Each number in `repeats` is the axis that the next new axis repeats: only where both
    indices are equal, the output is not 0. `places` is the order of all axes then.
    """

    operands: tuple[_Operand, ...]
    is_matmul: bool
    product: tuple[int, ...]
    split: tuple[int, ...]
    order: tuple[int, ...]
    repeats: tuple[int, ...]
    places: tuple[int, ...]

    @property
    def is_direct(self) -> bool:
        """Whether the product has the elements of the output in their order."""
        return not self.repeats and self.order == tuple(range(len(self.order)))

    def finished(self, product: Array, module: Any) -> Array:
        """Return the output, which may be a view of the product. `module` is that of its array."""
        result = product if product.shape == self.split else product.reshape(self.split)
        if self.order != tuple(range(len(self.order))):
            result = result.transpose(self.order)
        for axis in self.repeats:
            count = result.shape[axis]
            shape = [1] * (result.ndim + 1)
            shape[axis] = shape[-1] = count
            is_diagonal = module.eye(count, dtype=bool).reshape(shape)
            result = np.where(is_diagonal, result[..., None], result.dtype.type(0))
        return result.transpose(self.places) if self.repeats else result


def _plan(equation: Equation, known: tuple[tuple[int, ...], ...]) -> _Plan:
    """Plan the work.

    Raises:
        ValueError: the shapes do not fit the equation.
    """
    expanded = equation.expanded(list(map(len, known)))
    sizes: Any = einsum_equation.sizes_of(expanded, known)
    output = tuple(dict.fromkeys(expanded.output))
    if len(known) == 1:
        shape = _sizes(output, sizes)
        operand = _operand(expanded.operands[0], output, shape)
        return _finished(expanded.output, (operand,), False, shape, output, sizes)
    x, y = expanded.operands
    # An operand may lack axes of an ellipsis, which stand before the others then.
    shared = tuple(
        sorted(
            (
                label
                for label in output
                if einsum_equation.is_broadcast(label) or (label in x and label in y)
            ),
            key=lambda label: label in x and label in y,
        )
    )
    of_x, of_y = (
        tuple(label for label in output if label in mine and label not in shared) for mine in (x, y)
    )
    summed = tuple(label for label in dict.fromkeys(x) if label in y and label not in output)
    # An operand may lack the first axes of an ellipsis, or have the size 1 there.
    batches = [_own(shared, labels, shape) for labels, shape in zip((x, y), known, strict=True)]
    ends = _sizes(of_x, sizes), _sizes(of_y, sizes)
    pair: tuple[tuple[int, ...], ...]
    if summed:
        inner, rows, columns = (
            math.prod(each) for each in (_sizes(summed, sizes), ends[0], ends[1])
        )
        pair = ((rows, inner), (inner, columns))
        orders = (*of_x, *summed), (*summed, *of_y)
        product = (*_sizes(shared, sizes), rows, columns)
    else:
        pair = ((*ends[0], *(1,) * len(of_y)), (*(1,) * len(of_x), *ends[1]))
        orders = of_x, of_y
        product = (*_sizes(shared, sizes), *ends[0], *ends[1])
    operands = tuple(
        _operand(labels, (*batch[0], *order), (*batch[1], *end))
        for labels, batch, order, end in zip((x, y), batches, orders, pair, strict=True)
    )
    labels = (*shared, *of_x, *of_y)
    return _finished(expanded.output, operands, bool(summed), product, labels, sizes)


def _own(shared: Labels, labels: Labels, shape: tuple[int, ...]) -> tuple[Labels, tuple[int, ...]]:
    """Return the batch labels that an operand has, and its sizes there."""
    mine = tuple(label for label in shared if label in labels)
    return mine, tuple(shape[labels.index(label)] for label in mine)


def _sizes(labels: Labels, sizes: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(sizes[label] for label in labels)


def _operand(labels: Labels, wanted: Labels, shape: tuple[int, ...]) -> _Operand:
    """Return how an operand gets the wanted labels in their order, and then a shape."""
    axes, diagonals = list(labels), []
    for label in dict.fromkeys(labels):
        while axes.count(label) > 1:
            first = axes.index(label)
            second = axes.index(label, first + 1)
            diagonals.append((first, second))
            axes = [*axes[:first], *axes[first + 1 : second], *axes[second + 1 :], label]
    sums = tuple(axis for axis, label in enumerate(axes) if label not in wanted)
    kept = [label for label in axes if label in wanted]
    return _Operand(tuple(diagonals), sums, tuple(map(kept.index, wanted)), shape)


def _finished(
    output: Labels,
    operands: tuple[_Operand, ...],
    is_matmul: bool,
    product: tuple[int, ...],
    labels: Labels,
    sizes: Mapping[str, int],
) -> _Plan:
    """Return the plan with the steps from the product, whose axes have `labels`, to the output."""
    once = tuple(dict.fromkeys(output))
    order = tuple(map(labels.index, once))
    # Each repeated label adds an axis at the end, and the axes are then put in order.
    added = [label for place, label in enumerate(output) if label in output[:place]]
    axes = [*once, *added]
    places = tuple(
        axes.index(label) if label not in output[:at] else len(once) + _before(output, at)
        for at, label in enumerate(output)
    )
    repeats = tuple(once.index(label) for label in added)
    return _Plan(operands, is_matmul, product, _sizes(labels, sizes), order, repeats, places)


def _before(output: Labels, at: int) -> int:
    """Return the number of the added axis that stands at place `at` of the output."""
    return sum(output[place] in output[:place] for place in range(at))


def _einsum(node: NodeContext) -> Function:
    try:
        equation = einsum_equation.parse(node.attrs["equation"])
    except ValueError as error:
        raise invalid(str(error)) from None
    multiply, module = integer_products.multiply_of(node), node.hardware.arrays
    plan_of = functools.lru_cache(maxsize=16)(functools.partial(_plan, equation))
    count = int(node.attrs["N"])

    def einsum(*arrays: Array) -> Any:
        inputs, out = arrays[:count], arrays[count] if len(arrays) > count else None
        try:
            plan = plan_of(tuple(x.shape for x in inputs))
        except ValueError as error:
            raise invalid(str(error)) from None
        factors = [operand.factor(x) for operand, x in zip(plan.operands, inputs, strict=True)]
        place = None if out is None or not plan.is_direct else out.reshape(plan.product)
        if count == 1:
            result = factors[0]
        elif plan.is_matmul:
            result = multiply(*factors, place)
        else:
            result = np.multiply(factors[0], factors[1], place)
        if count == 2 and place is not None:
            return out
        return _placed(plan.finished(result, module), inputs, out)

    return einsum


def _placed(result: Array, inputs: Sequence[Array], out: Array | None) -> Array:
    """Return the result in `out`, or in memory that no input has."""
    if out is not None:
        np.copyto(out, result)
        return out
    is_fresh = len(inputs) > 1 and result.flags.c_contiguous
    return result if is_fresh else result.copy()


register(Kernel("Einsum", _einsum, out=True))
