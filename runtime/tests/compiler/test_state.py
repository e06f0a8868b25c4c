"""Each segment runs once, after the events that it waits for. The events may come in any order."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capstan.core import node as ir
from capstan.executor import state, turns
from capstan.partition import parts


@st.composite
def layouts(draw: st.DrawFn) -> state.Layout:
    """Draw a layout with up to six segments, ten messages and four waiting nodes."""
    segments = draw(st.integers(1, 6))
    indexes = range(segments)
    needs = [draw(st.sets(st.integers(0, 9))) for _ in indexes]
    before = [draw(st.sets(st.integers(0, index - 1))) if index else set() for index in indexes]
    owners = draw(st.lists(st.integers(0, segments - 1), max_size=4))
    awaits = [
        {number for number, owner in enumerate(owners) if owner < index and draw(st.booleans())}
        for index in indexes
    ]
    starts = [
        [number for number, owner in enumerate(owners) if owner == index] for index in indexes
    ]
    return state.Layout(
        keys=tuple((index, 0) for index in indexes),
        needs=tuple(map(tuple, needs)),
        sends=((),) * segments,
        before=tuple(map(tuple, before)),
        waiting=tuple(f"node{number}" for number in range(len(owners))),
        starts=tuple(map(tuple, starts)),
        awaits=tuple(map(tuple, awaits)),
    )


@pytest.mark.e2e
@given(layouts(), st.data())
def test_any_order_of_events_runs_every_segment_once(
    layout: state.Layout, data: st.DataObject
) -> None:
    running = state.StepState(state.Plan(layout))
    numbers = sorted({number for needs in layout.needs for number in needs})
    events: list[tuple[str, int]] = [("start", 0)]
    events += [
        ("arrive", number) for number in numbers for _ in range(data.draw(st.integers(1, 2)))
    ]
    happened: set[tuple[str, int]] = set()
    ran: list[int] = []
    while events:
        event = kind, number = events.pop(data.draw(st.integers(0, len(events) - 1)))
        happened.add(event)
        if kind == "start":
            ready = running.start()
        elif kind == "arrive":
            ready = running.arrive(number)
        elif kind == "answer":
            ready = running.answer(number)
        else:
            ran.append(number)
            events += [("answer", waiting) for waiting in layout.starts[number]]
            ready = running.finish(number)
        for index in ready:
            assert ("start", 0) in happened
            assert happened.issuperset(("arrive", needed) for needed in layout.needs[index])
            assert happened.issuperset(("finish", earlier) for earlier in layout.before[index])
            assert happened.issuperset(("answer", awaited) for awaited in layout.awaits[index])
            events.append(("finish", index))
        is_left = any(event[0] in ("answer", "finish", "start") for event in events)
        assert running.is_over <= (not is_left)
    assert sorted(ran) == list(range(len(layout.keys)))
    assert running.is_over


def test_a_message_that_no_segment_waits_for_runs_no_segment() -> None:
    layout = state.Layout(
        keys=((0, 0), (1, 0)),
        needs=((), (0,)),
        sends=((), ()),
        before=((), (0,)),
        waiting=(),
        starts=((), ()),
        awaits=((), ()),
    )
    running = state.StepState(state.Plan(layout))
    assert running.arrive(99) == ()
    assert list(running.start()) == [0]
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
    assert layout.before == ((), (0,))
    assert [[m.number for m in sends] for sends in layout.sends] == [[0], [2]]


def layout_of(
    starts: list[tuple[int, ...]], awaits: list[tuple[int, ...]], needs: tuple[int, ...] = ()
) -> state.Layout:
    """Return a layout whose segments wait for nodes, and whose last segment needs messages."""
    count = len(starts)
    return state.Layout(
        keys=tuple((index, 0) for index in range(count)),
        needs=(*((),) * (count - 1), needs),
        sends=((),) * count,
        before=((),) * count,
        waiting=tuple(str(number) for each in starts for number in each),
        starts=tuple(starts),
        awaits=tuple(awaits),
    )


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        pytest.param(layout_of([()], [()]), [(0, False)], id="no wait"),
        pytest.param(layout_of([(0,)], [()]), [(0, False)], id="a wait at the end"),
        pytest.param(layout_of([(0,), ()], [(), (0,)]), [(0, False), (1, True)], id="one wait"),
        pytest.param(
            layout_of([(0,), (1,), ()], [(), (0,), (1,)]),
            [(0, False), (1, True), (2, True)],
            id="one wait after the other",
        ),
        pytest.param(
            layout_of([(0, 1), ()], [(), (0, 1)]), [(0, False), (1, True)], id="two at once"
        ),
        pytest.param(
            layout_of([(0,), (1,), ()], [(), (), (0, 1)]),
            [(0, False), (1, False), (2, True)],
            id="two of different segments",
        ),
        pytest.param(layout_of([(0, 1), (), ()], [(), (0,), (1,)]), None, id="a segment for each"),
        pytest.param(layout_of([(0, 1), ()], [(), (1,)]), None, id="a segment for one of two"),
        pytest.param(layout_of([(0,), ()], [(), (0,)], needs=(7,)), None, id="a message"),
    ],
)
def test_one_thread_runs_a_part_if_it_never_holds_up_a_segment(
    layout: state.Layout, expected: list[tuple[int, bool]] | None
) -> None:
    found = turns.of(layout)
    assert (found and [(turn.segment, turn.waits) for turn in found]) == expected


def test_brief_waits_may_hold_up_a_segment() -> None:
    layout = layout_of([(0, 1), (), ()], [(), (0,), (1,)])
    assert turns.of(layout, {0}) is None
    assert turns.of(layout, {0, 1}) == (
        turns.Turn(0, waits=False), turns.Turn(1, waits=True), turns.Turn(2, waits=False)
    )  # fmt: skip


@pytest.mark.e2e
@given(layouts())
def test_the_turns_of_one_thread_keep_the_order_of_the_segments(layout: state.Layout) -> None:
    layout = replace(layout, needs=((),) * len(layout.keys))
    order = turns.of(layout)
    if order is None:
        return
    ran: set[int] = set()
    answered: set[int] = set()
    for turn in order:
        started = {waiting for index in ran for waiting in layout.starts[index]}
        if turn.waits:
            for index in set(range(len(layout.keys))) - ran:
                can_run = ran.issuperset(layout.before[index])
                late = started.difference(answered, layout.awaits[index])
                assert not (can_run and late and started.issuperset(layout.awaits[index]))
            answered = started
        assert ran.issuperset(layout.before[turn.segment])
        assert answered.issuperset(layout.awaits[turn.segment])
        ran.add(turn.segment)
    assert ran == set(range(len(layout.keys)))
