"""Groups of elementwise nodes: which nodes a device computes together, and when groups may run."""

from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from capstan.core import node as ir
from capstan.core import shapes
from capstan.executor import fusion

SHAPE = (4, 4)
BATCH = (None, 4)


class Graph:
    """Nodes in topological order. Nodes that are no candidates run alone."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.waits: dict[str, set[str]] = {}
        self.candidates: list[fusion.Candidate] = []

    def alone(self, name: str, *inputs: str) -> None:
        self.names.append(name)
        self.waits[name] = set(inputs)

    def add(
        self,
        name: str,
        *inputs: str,
        key: str = "",
        shape: shapes.Shape = SHAPE,
        sizes: Mapping[str, shapes.Shape] | None = None,
        calls: int = 1,
    ) -> None:
        self.alone(name, *inputs)
        given = {ir.Edge(each): (sizes or {}).get(each, shape) for each in inputs}
        self.candidates.append(
            fusion.Candidate(name, (key, shape), shape, given, frozenset(inputs), calls)
        )

    def fused(self, leaving: Sequence[str] = (), fetched: Sequence[str] = ()) -> fusion.Fusion:
        readers: dict[str, set[str]] = {name: set() for name in self.names}
        for name, sources in self.waits.items():
            for source in sources:
                readers.setdefault(source, set()).add(name)
        for name in fetched:
            readers[name].add("")
        return fusion.Fusion(self.names, self.candidates, readers, frozenset(leaving))

    def groups(self, leaving: Sequence[str] = ()) -> list[str]:
        return [" ".join(member.name for member in group) for group in self.fused(leaving).groups()]


def test_a_node_joins_all_groups_that_it_reads() -> None:
    graph = Graph()
    graph.alone("x")
    graph.add("a", "x")
    graph.add("b", "x")
    graph.add("c", "a", "b")
    assert graph.groups() == ["a b c"]


def test_nodes_with_other_keys_stay_apart() -> None:
    graph = Graph()
    graph.add("a", "x")
    graph.add("b", "a", key="another device")
    assert graph.groups() == ["a", "b"]


def test_a_group_runs_before_a_node_that_it_does_not_wait_for() -> None:
    graph = Graph()
    graph.add("a", "x")
    graph.alone("between", "a")
    graph.add("b", "a", "between")
    assert graph.groups() == ["a", "b"]


def test_two_groups_do_not_wait_for_each_other() -> None:
    graph = Graph()
    graph.add("a", "x")
    graph.add("p", "x", key="other")
    graph.add("q", "p", "a", key="other")
    graph.add("b", "a", "p")
    assert graph.groups() == ["a", "p q", "b"]


def test_a_group_has_one_name_for_other_tasks() -> None:
    graph = Graph()
    graph.add("a", "x")
    graph.add("b", "a")
    assert graph.groups(leaving=["a", "b"]) == ["a", "b"]
    assert graph.groups(leaving=["b"]) == ["a b"]


def test_a_large_group_ends() -> None:
    graph = Graph()
    graph.alone("x")
    for index in range(10):
        graph.add(f"n{index}", f"n{index - 1}" if index else "x", calls=10)
    assert [len(group.split()) for group in graph.groups()] == [3, 3, 3, 1]
    graph = Graph()
    graph.add("a", *(f"x{index}" for index in range(12)))
    graph.add("b", "a", *(f"y{index}" for index in range(5)))
    assert graph.groups() == ["a", "b"]


def test_results_are_what_others_need_and_the_name_comes_first() -> None:
    graph = Graph()
    for name, source in ("ax", "ba", "cb"):
        graph.add(name, source)
    graph.alone("reader", "b")
    assert graph.fused(leaving=["c"]).results({"a", "b", "c"}) == ["c", "b"]
    assert graph.fused(fetched=["a"]).results({"a", "b", "c"}) == ["a", "b"]
    assert Graph.fused(graph).results({"a", "c"}) == ["a"]


def test_a_group_without_readers_has_its_last_node_as_result() -> None:
    graph = Graph()
    graph.add("a", "x")
    graph.add("b", "a")
    assert graph.fused().results({"a", "b"}) == ["b"]


def test_several_results_of_unknown_size_must_have_one_size_in_each_step() -> None:
    def groups(sizes: Mapping[str, shapes.Shape]) -> list[str]:
        graph = Graph()
        graph.add("a", "x", shape=BATCH)
        graph.alone("reader", "a")
        graph.add("b", "a", "y", shape=BATCH, sizes=sizes)
        graph.alone("other", "b")
        return graph.groups()

    assert groups({"y": BATCH}) == ["a b"]
    assert groups({"y": (4,)}) == ["a b"]
    assert groups({"y": ()}) == ["a b"]
    assert groups({"y": (None, 1)}) == ["a", "b"]
    assert groups({"y": (5, 4)}) == ["a", "b"]
    assert groups({"y": None}) == ["a", "b"]
    assert fusion.alike(BATCH, [BATCH, (4,), BATCH]) == [0, 2]
    assert fusion.alike(SHAPE, [SHAPE, SHAPE]) == []


@given(
    nodes=st.lists(
        st.tuples(st.booleans(), st.sampled_from("pq"), st.lists(st.integers(0, 30), max_size=3)),
        min_size=1,
        max_size=30,
    )
)
def test_groups_and_single_nodes_can_run_in_the_order_of_their_first_nodes(
    nodes: list[tuple[bool, str, list[int]]],
) -> None:
    graph = Graph()
    graph.alone("n0")
    for place, (is_candidate, key, chosen) in enumerate(nodes, 1):
        inputs = [f"n{index % place}" for index in chosen] or ["n0"]
        if is_candidate:
            graph.add(f"n{place}", *inputs, key=key)
        else:
            graph.alone(f"n{place}", *inputs)
    unit = {name: name for name in graph.names}
    for group in graph.fused().groups():
        unit.update((member.name, group[0].name) for member in group)
    done: set[str] = set()
    for name in graph.names:
        if unit[name] != name:
            continue
        members = {each for each in graph.names if unit[each] == name}
        waits = set().union(*(graph.waits[each] for each in members)) - members
        assert {unit[each] for each in waits} <= done
        done.add(name)
