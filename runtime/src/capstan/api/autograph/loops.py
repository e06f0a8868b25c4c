"""`while` statements of converted functions (python/autograph/operators/control_flow.py)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from capstan.api import while_ops
from capstan.api.autograph import containers, state
from capstan.api.autograph.jumps import RETURNED
from capstan.api.autograph.state import GetState, SetState, Variables
from capstan.core import tensor_shape
from capstan.framework import composite, convert, nest, portable_graph
from capstan.framework.tensor_array import TensorArray

Options = Mapping[str, Any] | None


def loop_options(**options: Any) -> dict[str, Any]:
    """Return the arguments of `set_loop_options`."""
    return options


def while_stmt(
    test: Callable[[], Any],
    body: Callable[[], None],
    get_state: GetState,
    set_state: SetState,
    names: Sequence[str],
    options: Options,
) -> None:
    """Run `body` while `test()` is true. If it is a tensor, add a `tf.while_loop`.

    Iterations pass on the variables `names`.

    Raises:
        ValueError: a variable has no value before a loop over tensors.
        TypeError: a variable that is not a tensor changes in a loop over tensors.
    """
    variables = Variables(get_state, set_state, names)
    while True:
        before = get_state()
        # The operations of a condition that becomes a part of the loop belong nowhere else.
        with portable_graph.PortableGraph().as_default():
            goes_on = test()
        if state.is_tensor(goes_on):
            set_state(before)
            tensor_loop(lambda _: test(), body, variables, options)
            return
        if not goes_on:
            return
        body()


def tensor_loop(
    test: Callable[[Any], Any],
    body: Callable[[], None],
    variables: Variables,
    options: Options,
    *,
    extra: Sequence[Any] = (),
    advance: Callable[[list[Any]], list[Any]] = list,
) -> None:
    """Add a `tf.while_loop` over the variables and over `extra` tensors.

    `test(extra)` returns the condition. `advance(extra)` is called before `body`, and returns the
    next `extra`.
    """
    packing = packed_state(variables)
    # A loop has at least one variable.
    starts = [list(extra) or [convert.constant(0)], packing.passed()]
    passed_options = dict(options or {})
    invariants = passed_options.pop("shape_invariants", None)
    if invariants is not None:
        passed_options["shape_invariants"] = [
            [each.shape for each in starts[0]],
            _invariants(starts[1], packing, invariants),
        ]

    def cond(extras: Any, values: Any) -> Any:
        variables.set(packing.packed(values))
        return convert.convert_to_tensor(test(extras))

    iteration = Iteration(variables, packing)

    def step(extras: Any, values: Any) -> Any:
        iteration.begin(values)
        following = advance(list(extras)) if extra else list(extras)
        body()
        return [following, iteration.end()]

    _, results = while_ops.while_loop(
        cond, step, starts, return_same_structure=True, **passed_options
    )
    iteration.leave(results)


class Iteration:
    """The iteration of a loop over tensors, which is built once, and the variables around it."""

    def __init__(self, variables: Variables, packing: state.Packing) -> None:
        self._variables, self._packing = variables, packing
        self._start: Sequence[Any] = ()
        self._kept: list[list[bool]] = []
        self._grown: set[int] = set()

    def begin(self, passed: Sequence[Any]) -> None:
        """Give the variables the tensors of an iteration."""
        self._start = self._packing.packed(passed)
        self._variables.set(self._start)

    def end(self) -> list[Any]:
        """Return the tensors that the next iteration gets."""
        before, names = self._packing.values, self._variables.names
        after = containers.known(names, before, self._variables.get())
        after, self._grown = containers.without_growth(names, self._start, after)
        check_same(names, before, after)
        self._kept = containers.kept(names, self._start, after)
        return leaves_of(self._packing, after)

    def leave(self, results: Sequence[Any]) -> None:
        """Give the variables their values after the loop."""
        values = self._packing.packed(results)
        values = list(map(containers.restored, values, self._packing.values, self._kept))
        self._variables.set(
            [None if place in self._grown else value for place, value in enumerate(values)]
        )


def leaves_of(packing: state.Packing, values: Sequence[Any]) -> list[Any]:
    """Return the leaves of the values at the end of an iteration that the loop passes on."""
    starts = nest.flatten(list(packing.values))
    ends = nest.flatten(list(values))
    return [
        _cast(end, start)
        for start, end in zip(starts, ends, strict=True)
        if state.can_be_passed(start)
    ]


def _cast(end: Any, start: Any) -> Any:
    """Return a value as a tensor. A number of Python gets the type of the variable."""
    if isinstance(end, TensorArray) or composite.is_composite(end) or state.is_tensor(end):
        return state.converted(end)
    kind = getattr(start, "dtype", None)
    return convert.convert_to_tensor(end, preferred_dtype=kind)


def packed_state(variables: Variables) -> state.Packing:
    """Return the values of the variables before a loop.

    Raises:
        ValueError: a variable has no value.
        NotImplementedError: the loop returns from its function.
    """
    before = variables.get()
    missing = state.undefined(variables.names, before)
    if RETURNED in missing:
        raise NotImplementedError("return statements are not supported within a TensorFlow loop.")
    if missing:
        raise ValueError(
            f"'{missing[0]}' must be defined before the loop: a loop over tensors needs the value "
            "and the type of each variable that it passes on"
        )
    return state.Packing(before)


def check_same(names: Sequence[str], before: Sequence[Any], after: Sequence[Any]) -> None:
    """Check that an iteration changes only the tensors and numbers in the variables.

    Raises:
        TypeError: a variable has another structure after the iteration, or another value that no
            loop over tensors can pass on.
    """
    for name, start, end in zip(names, before, after, strict=True):
        try:
            nest.check_same(start, end, composites=True)
        except (TypeError, ValueError) as fault:
            raise TypeError(
                f"'{name}' does not have the same nested structure before and after one iteration."
                f"\n\n{fault}"
            ) from None
        for one, two in zip(nest.flatten(start), nest.flatten(end), strict=True):
            if not state.can_be_passed(one) and one is not two and one != two:
                raise TypeError(
                    f"'{name}' is {one!r} before the loop and {two!r} after one iteration. A loop "
                    "over tensors passes on tensors and numbers only"
                )
            if state.can_be_passed(one) and not state.can_be_passed(two):
                raise TypeError(f"'{name}' is {two!r} after one iteration, which is not a tensor")


def _invariants(values: Sequence[Any], packing: state.Packing, given: Any) -> list[Any]:
    """Return the shape invariants of the variables: `given` has pairs of a value and a shape."""
    leaves = [leaf for leaf in nest.flatten(list(packing.values)) if state.can_be_passed(leaf)]
    shapes = []
    for value, leaf in zip(values, leaves, strict=True):
        found = [shape for variable, shape in given if variable is leaf]
        own = value.flow.shape if isinstance(value, TensorArray) else value.shape
        shapes.append(tensor_shape.as_shape(found[0]) if found else own)
    return shapes
