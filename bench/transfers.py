"""Steps that do nothing but move variables between a ps and a worker, and their rows."""

from collections.abc import Callable, Sequence

import contest
import sides

PS = "/job:ps/task:0"
WORKER = "/job:worker/task:0"


def pull(place: contest.Place, count: int, elements: int) -> contest.Step:
    """Return a step in which the worker reads `count` float32 variables of a ps.

    An op on the worker takes a view of each variable, so the values must reach the worker. The step
    fetches no values. An assertion that holds reads the views: no runtime leaves it out.
    """
    with place.tf.device(PS):
        sources = _variables(place, "source", count, elements)
    return pull_all(place, sources)


def pull_all(place: contest.Place, variables: Sequence[object]) -> contest.Step:
    """Return a step in which the worker reads variables, as in `pull`."""
    tf = place.tf
    with tf.device(WORKER):
        views = [tf.reshape(variable, [-1])[:1] for variable in variables]
        pulled = tf.group(*(tf.raw_ops.Assert(condition=True, data=[view]) for view in views))
    return _step(place, pulled)


def push(place: contest.Place, count: int, elements: int) -> contest.Step:
    """Return a step in which the worker adds its `count` float32 variables to those of a ps."""
    tf = place.tf
    with tf.device(WORKER):
        sources = _variables(place, "source", count, elements)
    with tf.device(PS):
        sinks = _variables(place, "sink", count, elements)
    with tf.device(WORKER):
        values = [tf.identity(variable) for variable in sources]
    sums = [tf.assign_add(sink, value).op for sink, value in zip(sinks, values, strict=True)]
    return _step(place, tf.group(*sums))


def row(
    title: str,
    unit: contest.Unit,
    goal: float,
    prepare: Callable[[contest.Place, int, int], contest.Step],
    count: int,
    elements: int,
) -> contest.Row:
    """Return the row of `pull` or `push` for `count` variables of `elements` float32 numbers."""
    return contest.Row(
        title,
        unit,
        goal,
        lambda place: prepare(place, count, elements),
        (sides.REFERENCE, sides.RESOURCE),
        ps=1,
        bytes_moved=4 * count * elements,
        window_s=1,
    )


def _variables(place: contest.Place, name: str, count: int, elements: int) -> list[object]:
    zeros = place.tf.zeros_initializer()
    return [
        place.tf.get_variable(f"{name}{index}", [elements], initializer=zeros)
        for index in range(count)
    ]


def _step(place: contest.Place, target: object) -> contest.Step:
    session = place.session()
    session.run(place.tf.global_variables_initializer())
    return lambda: session.run(target)
