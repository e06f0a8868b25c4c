"""A pinned array does not change. An array that is not pinned is changed in place."""

import examples
import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from capstan.hardware import cpu
from capstan.resources import variable

NUMBERS = st.integers(0, 99)


class Pinning(RuleBasedStateMachine):
    """Writers and senders in any order.

    `value` is the expected value of every element, and `pinned` the arrays of the senders.
    """

    def __init__(self) -> None:
        super().__init__()
        self.cell = variable.Variable("v", "", cpu.Cpu("/device:CPU:0"))
        self.cell.assign(np.zeros(3))
        self.value = 0.0
        self.pinned: list[tuple[np.ndarray, float]] = []

    @rule(number=NUMBERS)
    def assign(self, number: int) -> None:
        self.cell.assign(np.full(3, float(number)))
        self.value = float(number)

    @rule(number=NUMBERS)
    def add(self, number: int) -> None:
        before = self.cell.read()
        with self.cell.lock:
            array = self.cell.writable()
            array += number
        self.value += number
        is_free = all(pinned is not before for pinned, _ in self.pinned)
        assert (self.cell.read() is before) == is_free

    @rule()
    def pin(self) -> None:
        self.pinned.append((self.cell.pin(), self.value))

    @precondition(lambda self: self.pinned)
    @rule(data=st.data())
    def unpin(self, data: st.DataObject) -> None:
        index = data.draw(st.integers(0, len(self.pinned) - 1))
        array, _ = self.pinned.pop(index)
        self.cell.unpin(array)

    @invariant()
    def the_variable_and_pinned_arrays_have_the_expected_values(self) -> None:
        assert (self.cell.read() == self.value).all()
        for array, value in self.pinned:
            assert (array == value).all()


TestPinning = Pinning.TestCase
TestPinning.settings = settings(max_examples=examples.share(40), stateful_step_count=30)
