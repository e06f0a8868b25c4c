"""`Variable` of the module python/ops/variables.py is the class of all variables."""

from typing import Any

import pytest

import capstan as tf
from capstan.python.ops import resource_variable_ops, variables


def test_the_names_of_the_module_are_different_classes() -> None:
    assert variables.VariableV1 is tf.Variable
    assert variables.Variable is not tf.Variable
    assert variables.Variable.__name__ == "Variable"
    assert isinstance(variables.Variable, variables.VariableMetaclass)
    assert isinstance(tf.Variable, variables.VariableMetaclass)
    assert variables.Variable.SaveSliceInfo is tf.Variable.SaveSliceInfo


@pytest.mark.parametrize("kind", ["VariableV1", "RefVariable"])
def test_each_class_of_variables_counts_as_a_subclass(kind: str) -> None:
    assert issubclass(getattr(variables, kind), variables.Variable)
    assert issubclass(resource_variable_ops.ResourceVariable, variables.Variable)
    assert issubclass(variables.RefVariable, tf.Variable)
    assert not issubclass(variables.Variable, variables.RefVariable)
    assert not issubclass(tf.Tensor, variables.Variable)


@pytest.mark.parametrize("use_resource", [False, True])
def test_each_variable_is_an_instance(use_resource: bool) -> None:
    variable = tf.Variable(1.0, use_resource=use_resource)
    assert isinstance(variable, variables.Variable)
    assert isinstance(variable, variables.RefVariable) is not use_resource
    assert not isinstance(variable.value(), variables.Variable)


def test_a_call_makes_a_resource_variable() -> None:
    variable = variables.Variable([1, 2], False, True, None, "v", None, tf.int64)
    assert type(variable) is resource_variable_ops.ResourceVariable
    assert (variable.op.name, variable.dtype) == ("v", tf.int64)
    assert variable in tf.global_variables()
    assert tf.trainable_variables() == []
    with pytest.raises(TypeError, match="collections"):
        variables.Variable(1.0, collections=[])
    with pytest.raises(ValueError, match="initial_value must be specified"):
        variables.Variable()


def test_a_call_asks_the_creators_of_the_open_blocks() -> None:
    seen: list[set[str]] = []

    def creator(next_creator: Any, **given: Any) -> Any:
        seen.append(set(given))
        return next_creator(**{**given, "name": "other"})

    with tf.variable_creator_scope(creator):
        variable = variables.Variable(1.0, name="v")
        tf.Variable(1.0)
    assert (variable.op.name, variable.op.type) == ("other", "VarHandleOp")
    assert seen[1] - seen[0] == {"collections", "expected_shape", "use_resource"}


def test_a_subclass_of_a_program_has_its_own_instances() -> None:
    class Own(variables.Variable):
        def __init__(self) -> None:
            self.kind = "own"

    own = Own()
    assert own.kind == "own"
    assert isinstance(own, Own)
    assert isinstance(own, variables.Variable)
    assert isinstance(own, tf.Variable)
    assert not isinstance(tf.Variable(1.0), Own)
    assert not issubclass(tf.Variable, Own)
