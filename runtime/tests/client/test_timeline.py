"""The timeline of a step, drawn from times that the tests choose."""

import json
from typing import Any

from capstan.core import step_stats
from capstan.python.client import timeline

FIRST, SECOND = (f"/job:worker/replica:0/task:{index}/device:CPU:0" for index in (0, 1))
VECTOR = [step_stats.Output(1, (2,), 8)]


def ran(name: str, label: str, started_us: int, ended_us: int) -> step_stats.Execution:
    return step_stats.Execution(name, label, started_us * 1000, ended_us * 1000, 7, VECTOR)


def two_devices() -> Any:
    return step_stats.encode(
        {
            FIRST: [ran("a", "a = Tanh(x)", 10, 20), ran("b", "b = Neg(a)", 15, 25)],
            SECOND: [ran("c", "c = Mul(a, b, ^d)", 40, 45)],
        }
    )


def drawn(stats: Any, *options: bool) -> dict[str, list[dict[str, Any]]]:
    """Return the events of a timeline by their phase, the field `ph`."""
    text = timeline.Timeline(stats).generate_chrome_trace_format(*options)
    found: dict[str, list[dict[str, Any]]] = {}
    for event in json.loads(text)["traceEvents"]:
        found.setdefault(event["ph"], []).append(event)
    return found


def test_each_node_is_an_event_of_its_device() -> None:
    events = drawn(two_devices(), False)
    processes = {event["args"]["name"]: event["pid"] for event in events["M"]}
    assert {event["args"]["name"]: event["pid"] for event in events["X"]} == {
        "a": processes[f"{FIRST} Compute"],
        "b": processes[f"{FIRST} Compute"],
        "c": processes[f"{SECOND} Compute"],
    }
    last = events["X"][-1]
    assert (last["name"], last["ts"], last["dur"]) == ("Mul", 40, 5)
    assert last["args"] == {"name": "c", "op": "Mul", "input0": "a", "input1": "b", "input2": "^d"}
    assert events.keys() == {"M", "X"}


def test_nodes_that_run_at_the_same_time_are_in_different_rows() -> None:
    rows = [event["tid"] for event in drawn(two_devices())["X"]]
    assert rows == [0, 1, 0]


def test_arrows_lead_from_a_tensor_to_its_readers_in_other_rows() -> None:
    events = drawn(two_devices(), True)
    starts = [(event["name"], event["ts"]) for event in events["s"]]
    ends = [(event["name"], event["ts"]) for event in events["t"]]
    assert starts == [("a", 20), ("a", 20), ("b", 25)]
    assert ends == [("a", 15), ("a", 40), ("b", 40)]
    assert [event["id"] for event in events["s"]] == [event["id"] for event in events["t"]]


def test_no_arrow_leads_to_a_reader_in_the_same_row() -> None:
    events = {FIRST: [ran("a", "a = Tanh(x)", 10, 20), ran("b", "b = Neg(a)", 30, 40)]}
    assert "s" not in drawn(step_stats.encode(events), True)


def test_the_memory_of_an_allocator_is_counted_over_time() -> None:
    analysis = timeline.Timeline(two_devices()).analyze_step_stats()
    maximum = analysis.allocator_maximums["cpu"]
    assert (maximum.num_bytes, maximum.tensors) == (24, {"a", "b", "c"})
    counts = [event["args"]["cpu"] for event in drawn(two_devices(), True, True)["C"]]
    assert counts == [8, 16, 24, 16, 8, 0]


def test_drawing_leaves_the_times_as_they_are() -> None:
    stats = two_devices()
    before = stats.SerializeToString()
    drawn(stats, True, True)
    assert stats.SerializeToString() == before
