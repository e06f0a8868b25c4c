"""`for` statements of converted functions (python/autograph/operators/control_flow.py)."""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import data_structure
from capstan.api.autograph import branches, loops, state
from capstan.api.autograph.loops import Options
from capstan.api.autograph.state import GetState, SetState, Variables
from capstan.api.ragged import tensor as ragged_tensor
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw
from capstan.framework.tensor_array import TensorArray


def for_stmt(
    iterated: Any,
    test: Callable[[], Any] | None,
    body: Callable[[Any], None],
    get_state: GetState,
    set_state: SetState,
    names: Sequence[str],
    options: Options,
) -> None:
    """Call `body` for each item of `iterated`, while `test()` is true.

    A loop over a tensor or over the rows of a RaggedTensor is a `tf.while_loop`. A loop over a
    dataset is a `Dataset.reduce`. Other loops run while the graph is built.

    Raises:
        as `loops.while_stmt`.
    """
    variables = Variables(get_state, set_state, names)
    if state.is_tensor(iterated):
        _over_tensor(convert.convert_to_tensor(iterated), test, body, variables, options)
    elif isinstance(iterated, ragged_tensor.RaggedTensor):
        _counted(iterated.nrows(), lambda i: iterated[i], test, body, variables, options)
    elif state.has(iterated, "_dataset_spec"):
        _over_dataset(iterated, test, body, variables)
    elif state.has(iterated, "string_handle"):
        _over_iterator(iterated, test, body, variables, options)
    else:
        _over_python(iterated, test, body)


def _over_python(
    iterated: Any, test: Callable[[], Any] | None, body: Callable[[Any], None]
) -> None:
    items = iter(iterated)
    while test is None or _holds(test()):
        # A loop that ends by `break` takes no further item.
        try:
            item = next(items)
        except StopIteration:
            return
        body(item)


def _holds(test: Any) -> bool:
    if state.is_tensor(test):
        raise TypeError(
            "A loop over a Python value cannot end by a condition that is a tensor: loop over a "
            "tensor, for example tf.range, instead"
        )
    return bool(test)


def _over_tensor(tensor: Any, test: Any, *rest: Any) -> None:
    tensor.shape.with_rank_at_least(1)
    size = tensor.shape.as_list()[0] if tensor.shape.ndims is not None else None
    count = raw.Shape(tensor)[0] if size is None else size
    array = TensorArray(tensor.dtype.base_dtype, count).unstack(tensor)
    _counted(count, array.read, test, *rest)


def _counted(
    count: Any,
    item: Callable[[Any], Any],
    test: Callable[[], Any] | None,
    body: Callable[[Any], None],
    variables: Variables,
    options: Options,
) -> None:
    """Add a loop over the items of the numbers below `count`."""
    limit = convert.convert_to_tensor(count)
    current: list[Any] = []

    def goes_on(extra: Sequence[Any]) -> Any:
        is_below = raw.Less(extra[0], limit)
        return is_below if test is None else raw.LogicalAnd(is_below, test())

    def advance(extra: list[Any]) -> list[Any]:
        current[:] = extra
        return [raw.AddV2(extra[0], convert.constant(1, limit.dtype.base_dtype))]

    loops.tensor_loop(
        goes_on,
        lambda: body(item(current[0])),
        variables,
        options,
        extra=[convert.constant(0, limit.dtype.base_dtype)],
        advance=advance,
    )


def _over_iterator(
    iterator: Any,
    test: Callable[[], Any] | None,
    body: Callable[[Any], None],
    variables: Variables,
    options: Options,
) -> None:
    """Add a loop that takes elements of an iterator until it has none.

    A loop that ends by `break` takes no further element.
    """
    described = data_structure.flat(iterator._spec)
    taken: list[Any] = []

    def goes_on(extra: Sequence[Any]) -> Any:
        return extra[0] if test is None else raw.LogicalAnd(extra[0], test())

    def advance(_: list[Any]) -> list[Any]:
        optional = raw.IteratorGetNextAsOptional(iterator._iterator_resource, **described)
        taken[:] = [optional, raw.OptionalHasValue(optional)]
        return taken[1:]

    def with_element() -> None:
        values = raw.OptionalGetValue(taken[0], **described)
        found = values if isinstance(values, list) else [values]
        body(data_structure.element(iterator._spec, found))

    def step() -> None:
        branches.if_stmt(
            taken[1], with_element, lambda: None, *variables, outputs=len(variables.names)
        )

    start = [convert.constant(True)]
    loops.tensor_loop(goes_on, step, variables, options, extra=start, advance=advance)


def _over_dataset(
    dataset: Any,
    test: Callable[[], Any] | None,
    body: Callable[[Any], None],
    variables: Variables,
) -> None:
    """Reduce the dataset to the variables. With `test`, stop before the element that fails it."""
    packing = loops.packed_state(variables)
    # A reduction has at least one tensor as its state.
    start = (convert.constant(True), *packing.passed())

    iteration = loops.Iteration(variables, packing)

    def reduced(values: Any, element: Any) -> Any:
        goes_on, *passed = values
        iteration.begin(passed)
        body(element)
        return (goes_on, *iteration.end())

    if test is None:
        results = dataset.reduce(start, reduced)
    else:
        results = _stopped(dataset, test, start, reduced, packing, variables.set)
    iteration.leave(results[1:])


def _stopped(
    dataset: Any,
    test: Callable[[], Any],
    start: Any,
    reduced: Callable[[Any, Any], Any],
    packing: state.Packing,
    set_state: SetState,
) -> Any:
    """Return the variables after the last element before which `test()` is true."""

    def scanned(values: Any, element: Any) -> Any:
        set_state(packing.packed(list(values)[1:]))
        goes_on = convert.convert_to_tensor(test(), dtypes.bool_)
        following = reduced((goes_on, *list(values)[1:]), element)
        return following, following

    taken = dataset._scan(start, scanned)._take_while(lambda *values: values[0])
    return taken.reduce(start, lambda _, values: values)
