"""Readers of a variable run before its writers, and no dependency is broken for it."""

from hypothesis import given
from hypothesis import strategies as st

from capstan.core import dtypes, node, shapes
from capstan.framework import ops  # noqa: F401 - fills the registry
from capstan.graph import order, schedule

Edge = node.Edge
FLOAT = {"T": dtypes.float32}
V = node.Node("v", "VariableV2", attrs={"dtype": dtypes.float32, "shape": shapes.TensorShape([])})


@st.composite
def segments(draw: st.DrawFn) -> list[node.Node]:
    items = [V, node.Node("read", "Identity", (Edge("v"),), attrs=FLOAT)]
    for index in range(draw(st.integers(0, 10))):
        values = [item.name for item in items if item.op in ("Identity", "Neg")]
        source = Edge(draw(st.sampled_from(values)))
        control = draw(st.lists(st.sampled_from([item.name for item in items]), max_size=2))
        if draw(st.booleans()):
            items.append(node.Node(f"n{index}", "Neg", (source,), tuple(control), attrs=FLOAT))
        else:
            items.append(
                node.Node(
                    f"n{index}", "AssignAdd", (Edge("v"), source), tuple(control), attrs=FLOAT
                )
            )
    return items


@given(segments())
def test_dependencies_hold_and_a_writer_waits_for_all_that_do_not_need_it(
    items: list[node.Node],
) -> None:
    scheduled = schedule.reads_first(items)
    position = {item.name: index for index, item in enumerate(scheduled)}
    assert sorted(position) == sorted(item.name for item in items)
    behind: dict[str, set[str]] = {}
    for item in scheduled:
        sources = list(order.producers(item))
        assert all(position[source] < position[item.name] for source in sources)
        behind[item.name] = set().union(*(behind[source] | {source} for source in sources))
    writers = [item.name for item in items if item.op == "AssignAdd"]
    for item in items:
        for writer in writers:
            if item.op == "Neg" and behind[item.name].isdisjoint(writers):
                assert position[item.name] < position[writer]


def test_the_gradient_of_the_layer_below_reads_weights_before_they_change() -> None:
    read = node.Node("read", "Identity", (Edge("v"),), attrs=FLOAT)
    apply = node.Node("apply", "AssignAdd", (Edge("v"), Edge("read")), attrs=FLOAT)
    below = node.Node("below", "Neg", (Edge("read"),), attrs=FLOAT)
    assert [item.name for item in schedule.reads_first([V, read, apply, below])] == [
        *("v", "read", "below", "apply")
    ]
