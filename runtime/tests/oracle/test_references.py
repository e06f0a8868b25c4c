"""References to variables that a step chooses: a TensorFlow client gets TensorFlow's values."""

from typing import Any

import genuine
import pytest

pytestmark = genuine.MARKS


def built(v1: Any, flag: Any) -> dict[str, Any]:
    """Return tensors that change one of two variables, which `flag` chooses."""
    from tensorflow.python.ops import gen_array_ops, gen_control_flow_ops

    v = v1.get_variable("v", initializer=1.0, use_resource=False)
    w = v1.get_variable("w", initializer=10.0, use_resource=False)
    changed = v1.cond(flag, lambda: v.assign_add(1.0), lambda: w.assign_sub(1.0))
    chosen = v1.cond(flag, lambda: v._ref(), lambda: w._ref())
    index = v1.cast(flag, v1.int32)
    return {
        "changed": changed,
        "computed": changed * 2.0,
        "merged": v1.assign_add(chosen, 100.0),
        "selected": v1.assign(gen_control_flow_ops.ref_select(index, [v._ref(), w._ref()]), 5.0),
        "copied": v1.assign_sub(gen_array_ops.ref_identity(v._ref()), 3.0),
        "v": v,
        "w": w,
    }


def values(v1: Any, target: str) -> list[Any]:
    with v1.Graph().as_default(), v1.device("/job:ps/task:0" if target else None):
        flag = v1.placeholder(v1.bool, [])
        *changes, v, w = built(v1, flag).values()
        with v1.Session(target) as session:
            session.run(v1.global_variables_initializer())
            return [
                (session.run(change, {flag: taken}), session.run([v, w]))
                for taken in (True, False, True)
                for change in changes
            ]


def test_a_chosen_reference_changes_the_chosen_variable(v1: Any, tasks: genuine.Tasks) -> None:
    v1.disable_control_flow_v2()
    assert values(v1, tasks.target()) == values(v1, "")


def test_a_reference_that_does_not_exist_is_refused(v1: Any, tasks: genuine.Tasks) -> None:
    from tensorflow.python.ops import gen_control_flow_ops

    messages = []
    for target in ("", tasks.target()):
        with v1.Graph().as_default():
            v = v1.get_variable("v", initializer=1.0, use_resource=False)
            index = v1.placeholder_with_default(3, [])
            chosen = gen_control_flow_ops.ref_select(index, [v._ref()])
            with v1.Session(target) as session:
                session.run(v.initializer)
                with pytest.raises(v1.errors.InvalidArgumentError) as refused:
                    session.run(chosen)
        messages.append(refused.value.message.partition("Index must")[2].partition("\n")[0][:30])
    assert messages[0] == messages[1] != ""


def test_a_loop_over_a_reference_is_refused(v1: Any, tasks: genuine.Tasks) -> None:
    v1.disable_control_flow_v2()
    v = v1.get_variable("v", initializer=1.0, use_resource=False)
    looped = v1.while_loop(lambda a: a < 10.0, lambda a: [v.assign_add(1.0)], [v._ref()])
    with v1.Session(tasks.target()) as session:
        session.run(v.initializer)
        with pytest.raises(v1.errors.InvalidArgumentError, match="must not be a reference"):
            session.run(looped)
