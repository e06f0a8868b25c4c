"""`if` statements and conditional expressions of converted functions
(python/autograph/operators/{control_flow,conditional_expressions}.py)."""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import cond_ops
from capstan.api.autograph import containers, state
from capstan.api.autograph.jumps import RETURNED
from capstan.api.autograph.state import GetState, SetState, Variables
from capstan.api.autograph.undefined import Undefined, is_undefined
from capstan.framework import convert, nest


def if_stmt(
    test: Any,
    body: Callable[[], None],
    orelse: Callable[[], None],
    get_state: GetState,
    set_state: SetState,
    names: Sequence[str],
    outputs: int,
) -> None:
    """Run `body` or `orelse`. If `test` is a tensor, a step chooses, by a `tf.cond`.

    The first `outputs` of the variables `names` are read later.

    Raises:
        ValueError: one branch gives a variable no value, and the other does.
        TypeError: the branches give a variable values of other types.
    """
    if not state.is_tensor(test):
        (body if test else orelse)()
        return
    before = get_state()
    ends: list[Sequence[Any]] = []
    branch = _branches(before, ends, Variables(get_state, set_state, names[:outputs]))
    results = cond_ops.cond(
        convert.convert_to_tensor(test), lambda: branch(body), lambda: branch(orelse), strict=True
    )
    after = state.Packing(ends[0]).packed(list(results)[1:])
    is_kept = containers.kept(names[:outputs], before[:outputs], *ends)
    after = list(map(containers.restored, after, before, is_kept))
    unread = [Undefined(name) for name in names[outputs:]]
    set_state([*after, *unread])


def _branches(
    before: Sequence[Any], ends: list[Sequence[Any]], variables: Variables
) -> Callable[[Callable[[], None]], list[Any]]:
    """Return a function that builds one branch, and notes the values of the variables in `ends`."""

    def built(run: Callable[[], None]) -> list[Any]:
        variables.set(before)
        run()
        end = containers.known(variables.names, before, variables.get())
        variables.set(before)
        ends.append(end)
        if len(ends) == 2:
            _check_defined(variables.names, ends)
        # A conditional has at least one result.
        return [convert.constant(0), *state.Packing(end).passed()]

    return built


def _check_defined(names: Sequence[str], ends: Sequence[Sequence[Any]]) -> None:
    for name, first, second in zip(names, *ends, strict=True):
        if is_undefined(first) != is_undefined(second):
            branch = "else" if is_undefined(second) else "main"
            if name == RETURNED:
                raise ValueError(
                    f"A value must also be returned from the {branch} branch. If a value is "
                    "returned from one branch of a conditional a value must be returned from all "
                    "branches."
                )
            raise ValueError(
                f"'{name}' must also be initialized in the {branch} branch. Alternatively, you may "
                "initialize it before the if statement."
            )
        if is_undefined(first):
            continue
        try:
            nest.check_same(first, second, composites=True)
        except (TypeError, ValueError) as fault:
            raise TypeError(
                f"'{name.removesuffix('[:]')}' does not have the same nested structure in the main "
                "and else branches."
                f"\n\n{fault}"
            ) from None
        for one, two in zip(nest.flatten(first), nest.flatten(second), strict=True):
            _check_leaves(name, one, two)


def _check_leaves(name: str, one: Any, two: Any) -> None:
    if not state.can_be_passed(one) or not state.can_be_passed(two):
        if one is not two and one != two:
            raise TypeError(
                f"'{name}' is {one!r} after the main branch and {two!r} after the else branch. "
                "Only tensors and numbers may differ between the branches of a conditional over a "
                "tensor."
            )
        return
    first, second = (state.converted(each).dtype.base_dtype.name for each in (one, two))
    if first != second:
        raise TypeError(
            f"'{name}' has dtype {first} in the main branch, but dtype {second} in the else branch"
        )


def if_exp(test: Any, body: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
    """Return `body() if test else orelse()`. If `test` is a tensor, a step chooses."""
    if not state.is_tensor(test):
        return body() if test else orelse()
    return cond_ops.cond(convert.convert_to_tensor(test), body, orelse, strict=True)
