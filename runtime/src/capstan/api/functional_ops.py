"""Functions that apply a function to the slices of tensors along their first axis: `tf.map_fn`,
`tf.scan`, `tf.foldl`, `tf.foldr` (python/ops/{map_fn,functional_ops}.py)."""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.api.scoped import scoped
from capstan.api.while_ops import while_loop
from capstan.core import dimension
from capstan.framework import convert, nest
from capstan.framework.raw import raw
from capstan.framework.tensor_array import TensorArray

__all__ = ["foldl", "foldr", "map_fn", "scan"]


def map_fn(
    fn: Callable[[Any], Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
) -> Any:
    """Return the results of `fn` for the slices of `elems` along axis 0, stacked along axis 0.

    `elems` is a tensor, or a structure of tensors whose axis 0 has the same size. `fn` takes one
    slice of each tensor, in the structure of `elems`. `dtype` gives the types of the results of
    `fn`, in their structure. By default, the results have the types and the structure of `elems`.
    With `infer_shape`, all results must have the same shape.

    Raises:
        TypeError: `fn` is not callable or returns another structure than `dtype`.
    """
    _check_callable(fn)
    leaves = nest.flatten(elems)
    with scoped(name, "map", leaves):
        tensors = [convert.convert_to_tensor(leaf, name="elem") for leaf in leaves]
        types = nest.flatten(dtype) if dtype is not None else [x.dtype for x in tensors]
        structure = elems if dtype is None else dtype
        count = _common_count(tensors)
        size: Any = count or _count(tensors[0])
        inputs = [TensorArray(x.dtype, size).unstack(x) for x in tensors]
        zero = convert.constant(0)
        outputs = [TensorArray(kind, size, infer_shape=infer_shape) for kind in types]

        def compute(i: Any, arrays: Any) -> Any:
            result = fn(nest.packed(elems, [array.read(i) for array in inputs]))
            nest.check_same(structure, result)
            values = zip(arrays, nest.flatten(result), strict=True)
            return i + 1, [array.write(i, value) for array, value in values]

        _, results = while_loop(
            lambda i, _: i < size,
            compute,
            (zero, outputs),
            parallel_iterations=10 if parallel_iterations is None else parallel_iterations,
            back_prop=back_prop,
            swap_memory=swap_memory,
            maximum_iterations=size,
        )
        return nest.packed(structure, _stacked(results, count))


def scan(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """Return all accumulated values of `fn(accumulated, slice)`, stacked along axis 0.

    `fn` is called for the slices of `elems` along axis 0 from the first to the last, or from the
    last to the first if `reverse` is true. The first accumulated value is `initializer`. If
    `initializer` is None, it is the first slice in this order. `fn` returns a value of the same
    structure.

    Raises:
        TypeError: `fn` is not callable or returns another structure.
    """
    _check_callable(fn)
    leaves = nest.flatten(elems)
    structure = elems if initializer is None else initializer
    with scoped(name, "scan", leaves):
        tensors = [convert.convert_to_tensor(leaf, name="elem") for leaf in leaves]
        count = _static_count(tensors[0])
        size: Any = _count(tensors[0]) if count is None else count
        inputs = [TensorArray(x.dtype, size, element_shape=x.shape[1:]).unstack(x) for x in tensors]
        first: Any = size - 1 if reverse else 0
        if initializer is None:
            values, done = [array.read(first) for array in inputs], 1
        else:
            values, done = [convert.convert_to_tensor(x) for x in nest.flatten(initializer)], 0
        outputs = [
            TensorArray(
                x.dtype,
                size,
                infer_shape=infer_shape,
                element_shape=x.shape if infer_shape else None,
            )
            for x in values
        ]
        if initializer is None:
            written = zip(outputs, values, strict=True)
            outputs = [array.write(first, value) for array, value in written]

        def compute(i: Any, accumulated: Any, arrays: Any) -> Any:
            elements = nest.packed(elems, [array.read(i) for array in inputs])
            result = fn(nest.packed(structure, accumulated), elements)
            nest.check_same(structure, result)
            results = nest.flatten(result)
            written = zip(arrays, results, strict=True)
            arrays = [array.write(i, value) for array, value in written]
            return (i - 1 if reverse else i + 1), results, arrays

        _, _, arrays = while_loop(
            (lambda i, _, __: i >= 0) if reverse else (lambda i, _, __: i < size),
            compute,
            (size - 1 - done if reverse else done, values, outputs),
            parallel_iterations=parallel_iterations,
            back_prop=back_prop,
            swap_memory=swap_memory,
            maximum_iterations=size,
        )
        return nest.packed(structure, _stacked(arrays, _common_count(tensors)))


def foldl(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """Return the last value of `fn(accumulated, slice)` for the slices of `elems` along axis 0.

    The slices come from the first to the last. The first accumulated value is `initializer`. If
    `initializer` is None, it is the first slice.

    Raises:
        TypeError: `fn` is not callable or returns another structure.
    """
    options = parallel_iterations, back_prop, swap_memory
    return _fold(fn, elems, initializer, options, name or "foldl", reverse=False)


def foldr(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """Return the last value of `fn`, as `foldl`, but take the slices from the last to the first."""
    options = parallel_iterations, back_prop, swap_memory
    return _fold(fn, elems, initializer, options, name or "foldr", reverse=True)


def _fold(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any,
    options: tuple[int, bool, bool],
    name: str,
    *,
    reverse: bool,
) -> Any:
    _check_callable(fn)
    parallel_iterations, back_prop, swap_memory = options
    leaves = nest.flatten(elems)
    with scoped(name, name, leaves):
        tensors = [convert.convert_to_tensor(leaf, name="elem") for leaf in leaves]
        size: Any = _static_count(tensors[0]) or _count(tensors[0])
        inputs = [TensorArray(x.dtype, size).unstack(x) for x in tensors]

        def element(i: Any) -> Any:
            return nest.packed(elems, [array.read(i) for array in inputs])

        def forward(i: Any, accumulated: Any) -> Any:
            result = fn(accumulated, element(i))
            return [i + 1, result]

        def backward(i: Any, accumulated: Any) -> Any:
            before = i - 1
            return [before, fn(accumulated, element(before))]

        is_given = initializer is not None
        counter: Any
        if reverse:
            counter = size if is_given else size - 1
            start = initializer if is_given else element(counter)
        else:
            start = initializer if is_given else element(0)
            counter = convert.constant(0 if is_given else 1)
        _, result = while_loop(
            (lambda i, _: i > 0) if reverse else (lambda i, _: i < size),
            backward if reverse else forward,
            [counter, start],
            parallel_iterations=parallel_iterations,
            back_prop=back_prop,
            swap_memory=swap_memory,
            maximum_iterations=size,
        )
        return result


def _check_callable(fn: Any) -> None:
    if not callable(fn):
        raise TypeError(f"{fn!r} is not callable. Please provide a callable function.")


def _static_count(tensor: Any) -> int | None:
    """Return the size of axis 0 of a tensor, or None if only the step knows it.

    Raises:
        ValueError: the tensor is a scalar.
    """
    shape = tensor.shape.with_rank_at_least(1)
    return None if shape.ndims is None else shape.as_list()[0]


def _count(tensor: Any) -> Any:
    """Return the size of axis 0 of a tensor, as a tensor."""
    return raw.Shape(tensor)[0]


def _common_count(tensors: Sequence[Any]) -> int | None:
    """Return the common static size of axis 0 of the tensors, or None if it is unknown."""
    counts = [dimension.Dimension(_static_count(x)) for x in tensors]
    for count in counts[1:]:
        counts[0].assert_is_compatible_with(count)
    known: int | None = counts[0].value
    return known


def _stacked(arrays: Sequence[TensorArray], count: int | None) -> list[Any]:
    results = [array.stack() for array in arrays]
    for result in results:
        if result.shape.ndims is not None:
            result.set_shape([count, *result.shape.as_list()[1:]])
    return results
