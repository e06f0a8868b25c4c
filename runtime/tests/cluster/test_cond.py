"""`tf.cond` in a step, on one task and on a cluster: one branch runs and has gradients."""

from typing import Any

import clusters
import numpy as np
import pytest

import capstan as tf

CHOICES = [(False, False), (False, True), (True, False), (True, True)]


@pytest.fixture(scope="module")
def server() -> str:
    return clusters.start(ps=1, worker=1)["worker:0"].target


@pytest.fixture(params=["local", "cluster"])
def target(request: pytest.FixtureRequest, server: str) -> str:
    return server if request.param == "cluster" else ""


def nested(p: Any, q: Any, x: Any, w: Any) -> Any:
    return tf.cond(p, lambda: tf.cond(q, lambda: x * x * w, lambda: x * 3.0), lambda: w + w)


@pytest.mark.e2e
def test_values_and_gradients_are_those_of_the_taken_branch(target: str) -> None:
    with tf.Graph().as_default():
        p, q = tf.placeholder(tf.bool, []), tf.placeholder(tf.bool, [])
        with tf.device("/job:ps" if target else None):
            x = tf.placeholder(tf.float32, [2]) * 1.0
            w = tf.Variable([3.0, 4.0], name="weights")
        with tf.device("/job:worker" if target else None):
            y = nested(p, q, x, w)
            slopes = tf.gradients(y, [x, w])
        with tf.Session(target) as session:
            session.run(w.initializer)
            for one, two in CHOICES:
                feed = {p: one, q: two, x.op.inputs[0]: [2.0, 5.0]}
                value, (by_x, by_w) = session.run([y, slopes], feed)
                xs, ws = np.array([2.0, 5.0]), np.array([3.0, 4.0])
                if not one:
                    expected = (2 * ws, 0 * xs, 0 * ws + 2)
                elif two:
                    expected = (xs * xs * ws, 2 * xs * ws, xs * xs)
                else:
                    expected = (3 * xs, 0 * xs + 3, 0 * ws)
                for found, wanted in zip((value, by_x, by_w), expected, strict=True):
                    np.testing.assert_allclose(found, wanted)


@pytest.mark.e2e
def test_only_the_taken_branch_changes_variables(target: str) -> None:
    with tf.Graph().as_default():
        p = tf.placeholder(tf.bool, [])
        with tf.device("/job:ps" if target else None):
            v = tf.Variable([1.0, 2.0], name="counted")
        counted = tf.cond(p, lambda: tf.assign_add(v, [1.0, 1.0]), v.read_value)
        trained = tf.cond(
            p,
            lambda: tf.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_sum(v * v)),
            tf.no_op,
        )
        with tf.Session(target) as session:
            session.run(v.initializer)
            assert session.run(counted, {p: False}).tolist() == [1, 2]
            assert session.run(counted, {p: True}).tolist() == [2, 3]
            assert session.run(trained, {p: False}) == np.False_
            assert session.run(v).tolist() == [2, 3]
            assert session.run(trained, {p: True}) == np.True_
            assert session.run(v).tolist() == [0, 0]


@pytest.mark.e2e
def test_a_gradient_is_sparse_only_if_both_branches_look_rows_up(target: str) -> None:
    with tf.Graph().as_default():
        p = tf.placeholder(tf.bool, [])
        table = tf.Variable(np.arange(10, dtype=np.float32).reshape(5, 2), name="table")
        looked_up = tf.cond(p, lambda: tf.gather(table, [1, 1, 3]), lambda: tf.gather(table, [0]))
        mixed = tf.cond(p, lambda: tf.gather(table, [1, 1, 3]), lambda: table * 2.0)
        (sparse,), (dense,) = tf.gradients(looked_up, [table]), tf.gradients(mixed, [table])
        with tf.Session(target) as session:
            session.run(table.initializer)
            got = session.run(sparse, {p: True})
            assert (got.indices.tolist(), got.values.shape) == ([1, 1, 3], (3, 2))
            assert session.run(sparse, {p: False}).indices.tolist() == [0]
            assert session.run(dense, {p: True})[:, 0].tolist() == [0, 2, 0, 1, 0]
            assert session.run(dense, {p: False})[:, 0].tolist() == [2] * 5


def test_a_branch_may_compute_a_gradient(target: str) -> None:
    with tf.Graph().as_default():
        p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [2])
        y = tf.cond(p, lambda: tf.gradients(x * x, [x])[0], lambda: x)
        with tf.Session(target) as session:
            assert session.run(y, {p: True, x: [2, 5]}).tolist() == [4, 10]
            assert session.run(y, {p: False, x: [2, 5]}).tolist() == [2, 5]


def test_gradients_pass_through_switch_and_merge() -> None:
    from capstan.framework.raw import raw

    with tf.Graph().as_default(), tf.Session() as session:
        p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [])
        off, on = raw.Switch(x, p)
        merged, _ = raw.Merge([off * 2.0, on * on])
        (slope,) = tf.gradients(merged * 3.0, [x])
        assert [session.run(slope, {p: side, x: 5.0}) for side in (False, True)] == [6, 30]


def test_elements_of_a_branch_cannot_be_fetched() -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [])
        y = tf.cond(p, lambda: x * 2.0, lambda: x)
        inner = graph.get_tensor_by_name("cond/mul:0")
        for fetched in (inner, inner.op):
            with pytest.raises(ValueError, match="has been marked as not fetchable"):
                session.run([y, fetched], {p: True, x: 1.0})


@pytest.mark.e2e
def test_the_first_case_whose_condition_is_true_runs(target: str) -> None:
    with tf.Graph().as_default():
        p, q = tf.placeholder(tf.bool, []), tf.placeholder(tf.bool, [])
        pairs = [(p, lambda: 1), (q, lambda: 2)]
        first = tf.case(pairs, default=lambda: 3)
        one_only = tf.case(pairs, default=lambda: 3, exclusive=True)
        some = tf.case(dict(pairs))
        alone = tf.case([(p, lambda: tf.constant(7.0))])
        with tf.Session(target) as session:
            found = [int(session.run(first, {p: one, q: two})) for one, two in CHOICES]
            assert found == [3, 2, 1, 1]
            assert session.run([some, one_only], {p: False, q: True}) == [2, 2]
            assert session.run(alone, {p: True}) == 7.0
            for fetch, both, message in (
                (one_only, True, "More than one condition evaluated as True"),
                (some, False, "None of the conditions evaluated as True"),
                (alone, False, "None of the conditions evaluated as True"),
            ):
                with pytest.raises(tf.errors.InvalidArgumentError, match=message):
                    session.run(fetch, {p: both, q: both})


@pytest.mark.e2e
def test_a_variable_is_initialized_from_another_one_that_may_be_uninitialized(target: str) -> None:
    with tf.Graph().as_default():
        first = tf.Variable(2.0, name="first")
        second = tf.Variable(first.initialized_value() * 2.0, name="second")
        with tf.Session(target) as session:
            session.run(second.initializer)
            assert session.run(second) == 4.0
            session.run(first.initializer)
            session.run(first.assign(5.0))
            session.run(second.initializer)
            assert session.run(second) == 10.0


def test_print_writes_its_data_and_passes_its_input(capfd: pytest.CaptureFixture[str]) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [4])
        shown = tf.Print(x * 2.0, [x, "a"], message="seen: ", first_n=2, summarize=3)
        (slope,) = tf.gradients(shown, [x])
        for _ in range(3):
            assert session.run(shown, {x: [1, 2, 3, 4]}).tolist() == [2, 4, 6, 8]
        assert session.run(slope, {x: [1, 2, 3, 4]}).tolist() == [2] * 4
    assert capfd.readouterr().err == "seen: [1 2 3...][a]\n" * 2


@pytest.mark.parametrize("is_taken", [False, True])
def test_branches_that_wait_for_different_nodes_follow_the_same_predicate(
    target: str, is_taken: bool
) -> None:
    with tf.Graph().as_default(), tf.device("/job:worker" if target else None):
        p = tf.placeholder(tf.bool, [])
        late, early = tf.FIFOQueue(1, [tf.float32], [[]]), tf.FIFOQueue(1, [tf.float32], [[]])
        first, second = late.dequeue(), early.dequeue()
        chosen = tf.cond(p, lambda: [first + first, second + second], lambda: [-first, -second])
        # The first dequeue gets its element from the branch of the second.
        enqueue = late.enqueue(chosen[1])
        with tf.Session(target) as session:
            session.run(early.enqueue(1.0))
            found, _ = session.run([chosen, enqueue], {p: is_taken})
    assert found == ([4.0, 2.0] if is_taken else [1.0, -1.0])
