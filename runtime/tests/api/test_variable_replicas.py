"""The arguments of variables that only distribution strategies use are checked and kept."""

from typing import Any

import pytest

import capstan as tf

WHEN, HOW = tf.VariableSynchronization, tf.VariableAggregation


def makers() -> list[Any]:
    return [
        lambda **more: tf.Variable(1.0, **more),
        lambda **more: tf.Variable(1.0, use_resource=True, **more),
        lambda **more: tf.get_variable("x", [], **more),
        lambda **more: tf.get_variable("y", [2], partitioner=tf.fixed_size_partitioner(2), **more),
        lambda **more: tf.contrib.framework.model_variable("z", [], trainable=False, **more),
    ]


@pytest.mark.parametrize("number", range(5))
def test_a_variable_keeps_its_synchronization_and_aggregation(number: int) -> None:
    made = makers()[number](synchronization=WHEN.ON_READ, aggregation=HOW.MEAN)
    for variable in made if number == 3 else [made]:
        assert variable.synchronization is WHEN.ON_READ
        assert variable.aggregation is HOW.MEAN
        assert not variable.trainable
    assert not tf.trainable_variables()


def test_variables_have_tensorflows_defaults() -> None:
    variable = tf.get_variable("x", [], synchronization=None, aggregation=None)
    assert variable.synchronization is WHEN.AUTO
    assert variable.aggregation is HOW.NONE
    assert variable.trainable
    changed = tf.Variable(1.0, use_resource=True).assign_add(1.0)
    assert changed.aggregation is HOW.NONE
    assert HOW.ONLY_FIRST_TOWER is HOW.ONLY_FIRST_REPLICA


@pytest.mark.parametrize("number", range(4))
def test_wrong_values_are_refused(number: int) -> None:
    make = makers()[number]
    with pytest.raises(ValueError, match="ON_READ only for non-trainable"):
        make(synchronization=WHEN.ON_READ, trainable=True)
    with pytest.raises(ValueError, match="Invalid variable synchronization mode: 7"):
        make(synchronization=7)
    with pytest.raises(ValueError, match="Invalid variable aggregation mode: often"):
        make(aggregation="often")


def test_a_local_variable_takes_its_arguments_by_position() -> None:
    ones = tf.ones_initializer()
    local = tf.get_local_variable("x", [2], tf.float64, ones, None, True, ["mine"], None, None)
    assert local in tf.local_variables()
    assert tf.get_collection("mine") == [local]
    assert not tf.trainable_variables() + tf.global_variables()
    assert local.dtype.base_dtype is tf.float64
