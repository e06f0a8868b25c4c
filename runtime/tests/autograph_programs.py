"""Functions whose control flow works on numbers of Python and on tensors.

Python itself says what each function returns. A function that TensorFlow converts too is in
`PORTABLE`: without an option, TensorFlow 1 compares tensors by identity, so it has no `==`.
TensorFlow refuses `else` of a loop, and loses what an inner function assigns by `nonlocal`.
"""

from collections.abc import Callable, Sequence
from typing import Any

Program = tuple[Callable[..., Any], Sequence[tuple[Any, ...]]]


def one_branch(x: Any) -> Any:
    y = x * 2
    if x > 0:
        y = y * x
    return y


def early_returns(x: Any) -> Any:
    if x > 0:
        return x * 2
    z = x - 1
    if z < -5:
        return z * 10
    return z


def nested_branches(x: Any, y: Any) -> Any:
    if x > 0:
        if y > 0:
            z = x
        elif y < -3:
            z = y
        else:
            z = x * y
    else:
        w = y
        z = w - 1
    return z


def a_loop(n: Any) -> Any:
    i = 0
    total = 0
    while i < n:
        twice = i * 2
        total += twice
        i += 1
    return total, i


def a_loop_that_breaks(n: Any) -> Any:
    i = 0
    total = 0
    while i < n:
        i += 1
        if i > 6:
            break
        if i < 3:
            continue
        total += i
    else:
        total += 1000
    return total, i


def a_loop_that_breaks_in_a_branch(n: Any) -> Any:
    total = 0
    for i in range(n):
        if i > 2:
            total += 1
            if total > 5:
                total *= 10
                break
        else:
            total += 2
        total += i
    return total


def loops_in_loops(n: Any) -> Any:
    total = 0
    for i in range(n):
        j = 0
        while j < i:
            if j > 1 and not i > 4:
                total += j
            j += 1
        if total > 20:
            break
    return total


def remainders(n: Any) -> Any:
    fizz = buzz = 0
    for i in range(n):
        if i % 3 == 0:
            fizz += 1
        elif i % 5 == 0:
            buzz += 1
    return fizz, buzz


def collatz(n: Any) -> Any:
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def operators(a: Any, b: Any) -> Any:
    return a > 0 and b > 0, a > 0 or b > 0, not a > b, a == b, a != b, (1 if a < b else 2)


def chained(a: Any) -> Any:
    if 0 < a < 5:
        return 1
    if 10 <= a <= 10 < 11:
        return 2
    return 0


def absolute(x: Any) -> Any:
    if x > 0:
        return x
    return -x


class Scale:
    factor = 3

    def of(self, x: Any) -> Any:
        if x > 1:
            return x * self.factor
        return x


class Shifted(Scale):
    def of(self, x: Any) -> Any:
        return super().of(x) + 1


def calls(x: Any) -> Any:
    return absolute(x) + Shifted().of(x=x)


def inner_functions(n: Any) -> Any:
    total = 0

    def add(k: Any) -> None:
        nonlocal total
        if k > 1:
            total += k
        else:
            total -= 1

    add(n)
    add(n - 2)
    return total


def python_stays_python(x: Any, flag: bool = True, *rest: Any, step: int = 2) -> Any:
    found = []
    for i in range(3):
        if flag and i != 1:
            found.append(x * i)  # noqa: PERF401 - the case
    try:
        last = found[5]
    except IndexError:
        last = found[0] + found[1]
    adders = [lambda y, j=j: y + j for j in range(step)]
    while True:
        last += 1
        if flag:
            break
    return adders[1](last) + sum(found)


def attributes(x: Any) -> Any:
    scale = Scale()
    scale.factor = 1
    while scale.factor < x:
        scale.factor = scale.factor * 2
    if x > 3:
        scale.factor = -scale.factor
    return scale.factor


def a_temporary_value_of_one_name(n: Any) -> Any:
    total = 0
    for i in range(n):
        x = i
        if x > 1:
            x = x * 2
        total += x
    x = total + 1
    x = x * 2
    return x + 1


def expressions_in_comprehensions(x: Any) -> Any:
    values = [x * 2 if x > k else k for k in (1, 5)]
    return values[0] + values[1]


def structures(n: Any) -> Any:
    state = {"sum": 0, "pair": (0, 1)}
    for i in range(n):
        first, second = state["pair"]
        state = {"sum": state["sum"] + i, "pair": (second, first + second)}
    return state["sum"], state["pair"]


def factorial(n: Any) -> Any:
    return 1 if n < 2 else n * factorial(n - 1)


def an_assignment_in_a_condition(x: Any) -> Any:
    y = x
    while (y := y + 1) < 5:
        x += y
    return x, y


def jumps_in_a_try(x: Any) -> Any:
    found = []
    for i in range(3):
        try:
            if i == 1:
                continue
            found.append(x * i)
        except TypeError:
            found.append(x)
        else:
            found.append(x + 1)
        finally:
            found.append(x + i)
    return found


def an_assertion(x: Any) -> Any:
    assert x > 0, "x must be positive"
    return x


def items_in_a_loop(n: Any) -> Any:
    values = {"sum": 0, "unit": 2}
    for i in range(n):
        values["sum"] = values["sum"] + i * values["unit"]
        if i > 2:
            values["sum"] += 1
    return values["sum"]


def new_items_in_branches(n: Any) -> Any:
    values: dict[str, Any] = {}
    if n > 2:
        values["a"] = n
    else:
        values["a"] = -n
    return values["a"]


def items_of_lists(n: Any) -> Any:
    holder = Scale()
    holder.values = {"k": [1, 2]}  # type: ignore[attr-defined]
    alias = holder.values["k"]  # type: ignore[attr-defined]
    while n > 0:
        holder.values["k"][0] *= 2  # type: ignore[attr-defined]
        alias[1] += alias[0]
        n -= 1
    return alias


def items_with_computed_keys(n: Any) -> Any:
    values = {}
    for key in ("a", "b"):
        values[key] = n
        if n > 2:
            values[key] = n * 2
    return values["a"] + values["b"]


def appended_in_both_branches(n: Any) -> Any:
    values = [1]
    if n > 2:
        values.append(n)
    else:
        values.extend([-n])
        values.reverse()
    return values[0], values[1]


def items_that_other_names_read(n: Any) -> Any:
    values = [[1, 2], [3, 4]]
    alias, place = values[1], 1
    read = lambda: values[0][1]  # noqa: E731 - the case
    if n > 2:
        values[place][0] = n
        values[0][1] = n + 1
    return alias[0], read()


def new_lists_in_branches(n: Any) -> Any:
    values = [1]
    if n > 2:
        values = [n, n]
        values.append(3)
    else:
        values = [0, 0, 0]
    return values


def other_items_stay_numbers(n: Any) -> Any:
    values = {"count": 3, "sum": 0}
    while n > values["sum"]:
        values["sum"] = values["sum"] + 1
    return [values["sum"]] * values["count"]


PORTABLE: tuple[Program, ...] = (
    (one_branch, [(3.0,), (-2.0,)]),
    (early_returns, [(3,), (-1,), (-9,)]),
    (nested_branches, [(1, 2), (1, -5), (2, -1), (-1, 4)]),
    (a_loop, [(5,), (0,)]),
    (a_loop_that_breaks_in_a_branch, [(2,), (10,)]),
    (loops_in_loops, [(3,), (12,), (-1,)]),
    (a_temporary_value_of_one_name, [(5,)]),
    (structures, [(6,)]),
    (items_in_a_loop, [(6,), (0,)]),
)
PROGRAMS: tuple[Program, ...] = (
    *PORTABLE,
    (a_loop_that_breaks, [(4,), (20,)]),
    (inner_functions, [(3,), (1,)]),
    (remainders, [(20,)]),
    (collatz, [(27,)]),
    (operators, [(1, 2), (2, 2), (-1, 3), (-1, -1)]),
    (chained, [(3,), (10,), (7,)]),
    (calls, [(2,), (-2,)]),
    (python_stays_python, [(2,)]),
    (attributes, [(5,), (2,)]),
    (expressions_in_comprehensions, [(3,), (9,)]),
    (an_assignment_in_a_condition, [(1,), (7,)]),
    (jumps_in_a_try, [(2,)]),
    (an_assertion, [(2,)]),
    (new_items_in_branches, [(3,), (1,)]),
    (items_of_lists, [(3,), (0,)]),
    (items_with_computed_keys, [(3,), (1,)]),
    (appended_in_both_branches, [(3,), (1,)]),
    (other_items_stay_numbers, [(4,)]),
    (items_that_other_names_read, [(3,), (1,)]),
    (new_lists_in_branches, [(3,), (1,)]),
)
