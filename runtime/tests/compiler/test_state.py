"""Segments run once, in order, and after their messages, in whichever order messages arrive."""

from hypothesis import given
from hypothesis import strategies as st

from capstan.core import node as ir
from capstan.executor import state
from capstan.partition import parts


@st.composite
def layouts(draw: st.DrawFn) -> state.Layout:
    """Draw the layout of a part with up to six segments and ten messages. Each has one reader."""
    segments = draw(st.integers(1, 6))
    owners = draw(st.lists(st.integers(0, segments - 1), max_size=10))
    needs = tuple(
        tuple(number for number, owner in enumerate(owners) if owner == index)
        for index in range(segments)
    )
    return state.Layout(needs, ((),) * segments)


@given(layouts(), st.data())
def test_any_order_of_arrivals_runs_every_segment_once(
    layout: state.Layout, data: st.DataObject
) -> None:
    numbers = [number for needs in layout.needs for number in needs]
    repeated = data.draw(st.lists(st.sampled_from(numbers), max_size=4)) if numbers else []
    events: list[int | str] = data.draw(st.permutations([*numbers, *repeated, "start"]))
    running = state.StepState(layout)
    arrived: set[int] = set()
    ran: list[int] = []

    def settle(ready: object) -> None:
        while ready:
            (index,) = ready  # type: ignore[misc]
            assert arrived.issuperset(layout.needs[index])
            assert "start" in seen
            ran.append(index)
            ready = running.finish(index)

    seen: list[int | str] = []
    for event in events:
        assert not running.is_over or event in arrived
        seen.append(event)
        if event == "start":
            settle(running.start())
        else:
            arrived.add(int(event))
            settle(running.arrive(int(event)))
    assert ran == list(range(len(layout.needs)))
    assert running.is_over


def test_a_message_that_no_segment_waits_for_runs_no_segment() -> None:
    running = state.StepState(state.Layout(((), (0,)), ((), ())))
    assert running.arrive(99) == ()
    assert running.start() == (0,)
    assert running.arrive(99) == ()


def test_segments_follow_the_legs_of_a_part() -> None:
    part = parts.Part(
        task="/job:ps/replica:0/task:0",
        nodes=(ir.Node("v", "VariableV2"), ir.Node("apply", "NoOp")),
        legs={"v": 0, "apply": 2},
        incoming=(parts.Message(1, "w", "ps", 2),),
        outgoing=(parts.Message(0, "ps", "w", 1), parts.Message(2, "ps", "w", 3)),
    )
    layout = state.Layout.of(part)
    assert layout.needs == ((), (1,))
    assert [[m.number for m in sends] for sends in layout.sends] == [[0], [2]]
