"""Handles that are sent to other tasks and back, and the objects that they refer to."""

import gc

import numpy as np
import pytest

from capstan import errors
from capstan.core import dtypes
from capstan.resources import handles, stack

CPU = "/job:ps/replica:0/task:0/device:CPU:0"


def made(name: str = "s") -> stack.Stack:
    return stack.Stack(name, dtypes.float32, -1)


def test_the_task_of_an_object_finds_it_by_its_handle() -> None:
    held = handles.Handles()
    first, second = made(), made()
    sent = [held.sent(each, CPU) for each in (first, second, first)]
    assert [held.received(handle) for handle in sent] == [first, second, first]
    np.testing.assert_array_equal(sent[0], sent[2])


def test_another_task_passes_a_handle_on() -> None:
    here, there = handles.Handles(), handles.Handles()
    kept = made()
    handle = here.sent(kept, CPU)
    passed = there.sent(there.received(handle), CPU)
    assert passed is handle
    assert here.received(passed) is kept


@pytest.mark.e2e
def test_a_handle_keeps_no_object_alive() -> None:
    held = handles.Handles()
    handle = held.sent(made(), CPU)
    gc.collect()
    assert held.received(handle) is handle


def test_a_tensor_that_is_no_handle_stays_as_it_is() -> None:
    value = np.float32([1, 2])
    assert handles.Handles().received(value) is value


def test_a_handle_that_cannot_be_read_is_refused() -> None:
    broken = np.frombuffer(b"\xff\xff\xff", dtypes.np_resource)
    with pytest.raises(errors.InvalidArgumentError, match="not a serialized ResourceHandleProto"):
        handles.Handles().received(broken)
