"""Nothing that waits is lost, and no namespace has more than its share of the places."""

from collections import Counter
from typing import NamedTuple

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from capstan_operator.kube.turns import Turns

PLACES, MOST = 5, 2
NAMESPACES = "xyz"


class Item(NamedTuple):
    namespace: str
    number: int


class TurnsMachine(RuleBasedStateMachine):
    """A namespace gets a place if it has few, compared with those that are free."""

    def __init__(self) -> None:
        super().__init__()
        self.turns = Turns[Item](PLACES, MOST)
        self.waiting: list[Item] = []
        self.taken: list[Item] = []
        self.offered = 0

    def takeable(self) -> list[Item]:
        used = Counter(item.namespace for item in self.taken)
        free = PLACES - len(self.taken)
        return [item for item in self.waiting if used[item.namespace] * 3 < free * 2]

    @rule(namespace=st.sampled_from(NAMESPACES))
    def offer(self, namespace: str) -> None:
        self.offered += 1
        item = Item(namespace, self.offered)
        self.turns.offer(item)
        self.waiting.append(item)

    @rule()
    def take(self) -> None:
        item, takeable = self.turns.take(), self.takeable()
        if item is None:
            assert takeable == []
            return
        assert item == next(other for other in takeable if other.namespace == item.namespace)
        self.waiting.remove(item)
        self.taken.append(item)

    @precondition(lambda self: self.taken)
    @rule(data=st.data())
    def give_back(self, data: st.DataObject) -> None:
        item = data.draw(st.sampled_from(self.taken))
        self.taken.remove(item)
        self.turns.give_back(item.namespace)

    @invariant()
    def no_namespace_has_more_than_its_share(self) -> None:
        assert all(used <= MOST for used in Counter(item.namespace for item in self.taken).values())


TestTurns = TurnsMachine.TestCase


@pytest.mark.parametrize(
    ("slow", "each", "free"), [(1, 8, 16), (2, 6, 12), (3, 5, 9), (10, 2, 4), (23, 1, 1)]
)
def test_slow_namespaces_leave_places_for_others(slow: int, each: int, free: int) -> None:
    turns = Turns[Item](24, 8)
    for number in range(24):
        for namespace in range(slow):
            turns.offer(Item(f"slow-{namespace}", number))
    taken: Counter[str] = Counter()
    while (item := turns.take()) is not None:
        taken[item.namespace] += 1
    assert sum(taken.values()) == 24 - free
    assert max(taken.values()) == each
    turns.offer(Item("fast", 1))
    assert turns.take() == Item("fast", 1)


def test_namespaces_take_turns() -> None:
    turns = Turns[Item](24, 8)
    for number in range(3):
        turns.offer(Item("many", number))
    turns.offer(Item("few", 0))
    order = [turns.take() for _ in range(4)]
    assert order == [Item("many", 0), Item("few", 0), Item("many", 1), Item("many", 2)]
