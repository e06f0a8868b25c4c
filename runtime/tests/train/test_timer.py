"""Tests of the timer that tells a hook when its interval has passed."""

import pytest

import capstan as tf


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_first_step_triggers_and_then_one_step_in_each_interval():
    timer, triggered = tf.train.SecondOrStepTimer(every_steps=3), []
    for step in range(5, 15):
        if timer.should_trigger_for_step(step):
            timer.update_last_triggered_step(step)
            triggered.append(step)
    assert triggered == [5, 8, 11, 14]
    assert timer.last_triggered_step() == 14


def test_a_step_triggers_once_an_interval_of_seconds_has_passed_and_only_once():
    clock = Clock()
    timer = tf.train.SecondOrStepTimer(every_secs=2.0, clock=clock)
    assert timer.update_last_triggered_step(1) == (None, None)
    clock.now = 1.9
    assert not timer.should_trigger_for_step(2)
    clock.now = 2.5
    assert not timer.should_trigger_for_step(1)
    assert timer.should_trigger_for_step(4)
    assert timer.update_last_triggered_step(4) == (2.5, 3)


def test_after_a_reset_the_next_step_triggers():
    timer = tf.train.SecondOrStepTimer(every_steps=100)
    timer.update_last_triggered_step(1)
    timer.reset()
    assert timer.should_trigger_for_step(1)


@pytest.mark.parametrize(
    "intervals, message",
    [
        ({}, "Either every_secs or every_steps should be provided."),
        ({"every_secs": 1, "every_steps": 1}, "Can not provide both every_secs and every_steps."),
    ],
)
def test_a_timer_takes_exactly_one_interval(intervals: dict[str, int], message: str):
    with pytest.raises(ValueError, match=message):
        tf.train.SecondOrStepTimer(**intervals)
