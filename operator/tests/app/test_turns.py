"""No waiting key is lost, and no namespace has more than its share of keys in work."""

from collections import Counter

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from capstan_operator.app.turns import Turns
from capstan_operator.kube.table import Key

MOST = 2
KEYS = [Key(namespace, name) for namespace in ("x", "y") for name in "abcd"]


class TurnsMachine(RuleBasedStateMachine):
    """A namespace gets a key whenever it has one that waits and fewer than MOST in work."""

    def __init__(self) -> None:
        super().__init__()
        self.turns = Turns(MOST)
        self.waiting: list[Key] = []
        self.in_work: list[Key] = []

    def takeable(self) -> list[Key]:
        used = Counter(key.namespace for key in self.in_work)
        return [key for key in self.waiting if used[key.namespace] < MOST]

    @precondition(lambda self: len(self.waiting) + len(self.in_work) < len(KEYS))
    @rule(data=st.data())
    def offer(self, data: st.DataObject) -> None:
        known = {*self.waiting, *self.in_work}
        key = data.draw(st.sampled_from([key for key in KEYS if key not in known]))
        self.turns.offer(key)
        self.waiting.append(key)

    @rule()
    def take(self) -> None:
        key, takeable = self.turns.take(), self.takeable()
        if key is None:
            assert takeable == []
            return
        assert key == next(other for other in takeable if other.namespace == key.namespace)
        self.waiting.remove(key)
        self.in_work.append(key)

    @precondition(lambda self: self.in_work)
    @rule(data=st.data())
    def give_back(self, data: st.DataObject) -> None:
        before = len(self.takeable())
        key = data.draw(st.sampled_from(self.in_work))
        self.in_work.remove(key)
        assert self.turns.give_back(key) == (len(self.takeable()) > before)

    @invariant()
    def no_namespace_has_more_than_its_share(self) -> None:
        assert all(used <= MOST for used in Counter(key.namespace for key in self.in_work).values())


TestTurns = TurnsMachine.TestCase
