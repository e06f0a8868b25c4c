"""Tests of the device setter, which places variables on parameter servers."""

import pytest

import capstan as tf

CLUSTER = {"ps": ["a:1", "b:1"], "worker": ["c:1", "d:1"]}


def test_variables_are_spread_over_the_servers_and_other_ops_go_to_the_worker():
    with tf.device(tf.train.replica_device_setter(cluster=CLUSTER)):
        variables = [tf.Variable(0.0, name=f"v{n}") for n in range(3)]
        total = variables[0] + variables[1]
    assert [v.device for v in variables] == [
        "/job:ps/task:0",
        "/job:ps/task:1",
        "/job:ps/task:0",
    ]
    assert [v.initializer.device for v in variables] == [v.device for v in variables]
    assert total.device == "/job:worker"


def test_slots_are_placed_with_their_variable_and_do_not_advance_the_round():
    with tf.device(tf.train.replica_device_setter(cluster=CLUSTER)):
        variables = [tf.get_variable(f"v{n}", [2]) for n in range(2)]
        adam = tf.train.AdamOptimizer()
        adam.minimize(tf.reduce_sum(variables[0] * variables[1]))
        after = tf.get_variable("after", [2])
    for variable in variables:
        for slot in ("m", "v"):
            assert adam.get_slot(variable, slot).device == variable.device
    assert after.device == "/job:ps/task:0"


@pytest.mark.parametrize(
    "inner, variable, operation",
    [
        ("/task:1", "/job:ps/task:1", "/job:worker/task:1"),
        ("/gpu:0", "/job:ps/task:0/device:GPU:0", "/job:worker/device:GPU:0"),
        ("/job:worker/task:1", "/job:worker/task:1", "/job:worker/task:1"),
        ("/job:ps", "/job:ps/task:0", "/job:ps"),
    ],
)
def test_inner_devices_are_completed(inner: str, variable: str, operation: str):
    with tf.device(tf.train.replica_device_setter(cluster=CLUSTER)), tf.device(inner):
        created = tf.Variable(1.0)
        assert (created.device, (created + 1.0).device) == (variable, operation)


def test_inner_devices_are_unchanged_without_merging():
    setter = tf.train.replica_device_setter(cluster=CLUSTER, merge_devices=False)
    with tf.device(setter), tf.device("/cpu:0"):
        assert tf.Variable(1.0).device == "/device:CPU:0"


def test_the_jobs_may_have_other_names():
    setter = tf.train.replica_device_setter(
        cluster={"sun": ["a:1"], "moon": ["b:1"]}, ps_device="/job:sun", worker_device="/job:moon"
    )
    with tf.device(setter):
        variable = tf.Variable(1.0)
        assert variable.device == "/job:sun/task:0"
        assert (variable + 1.0).device == "/job:moon"


def test_without_parameter_servers_the_setter_is_none():
    assert tf.train.replica_device_setter(ps_tasks=0) is None
    assert tf.train.replica_device_setter(cluster={"worker": ["c:1"]}) is None
    with tf.device(tf.train.replica_device_setter()):
        assert tf.Variable(1.0).device == ""


def test_only_the_listed_ops_count_as_variables():
    with tf.device(tf.train.replica_device_setter(ps_tasks=2, ps_ops=["Const"])):
        assert tf.Variable(1.0).op.device == "/job:worker"
        assert tf.constant(1.0).device == "/job:ps/task:1"


def test_a_strategy_must_be_callable():
    with pytest.raises(TypeError, match="ps_strategy must be callable"):
        tf.train.replica_device_setter(ps_tasks=1, ps_strategy=3)


def test_greedy_placement_chooses_the_server_with_the_least_load():
    strategy = tf.contrib.training.GreedyLoadBalancingStrategy(
        2, tf.contrib.training.byte_size_load_fn
    )
    with tf.device(tf.train.replica_device_setter(cluster=CLUSTER, ps_strategy=strategy)):
        tasks = [
            tf.get_variable(f"v{n}", [size]).device[-1] for n, size in enumerate([10, 3, 4, 2, 9])
        ]
    assert tasks == ["0", "1", "1", "1", "1"]


@pytest.mark.e2e
def test_random_placement_is_the_same_in_every_client():
    def place() -> list[str]:
        strategy = tf.contrib.training.RandomStrategy(3, seed=1)
        setter = tf.train.replica_device_setter(ps_tasks=3, ps_strategy=strategy)
        with tf.Graph().as_default(), tf.device(setter):
            return [tf.get_variable(f"v{n}", [1]).device for n in range(20)]

    first = place()
    assert place() == first
    assert set(first) == {f"/job:ps/task:{n}" for n in range(3)}


def test_the_load_of_an_op_needs_one_output_of_known_shape():
    with pytest.raises(ValueError, match="single output"):
        tf.contrib.training.byte_size_load_fn(tf.no_op())
    with pytest.raises(ValueError, match=r"fully defined shape.* under tf\.device"):
        tf.contrib.training.byte_size_load_fn(tf.placeholder(tf.float32, [None]).op)
