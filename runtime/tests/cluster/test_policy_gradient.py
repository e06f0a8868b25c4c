"""Policies that learn on a ps and a worker, by gradients through `tf.distributions`."""

from typing import Any

import clusters
import numpy as np
import pytest

import capstan as tf

BEST = np.array([2, 0, 1, 2], np.int32)
"""The action with a reward, for each state."""


@pytest.fixture(scope="module")
def target() -> str:
    return clusters.start(ps=1, worker=1)["worker:0"].target


def trained(target: str, build: Any, steps: int) -> Any:
    """Build a loss and a result on the devices of a cluster, train, and return the result."""
    tf.Session.reset(target)  # deletes the variables of other tests
    with tf.Graph().as_default():
        tf.set_random_seed(5)
        placed = tf.train.replica_device_setter(
            worker_device="/job:worker/task:0", cluster={"ps": ["a:1"], "worker": ["b:1"]}
        )
        with tf.device(placed):
            step = tf.train.get_or_create_global_step()
            loss, result = build()
            train = tf.train.AdamOptimizer(0.05).minimize(loss, global_step=step)
        assert {variable.device for variable in tf.trainable_variables()} == {"/job:ps/task:0"}
        with tf.train.MonitoredTrainingSession(
            target, hooks=[tf.train.StopAtStepHook(last_step=steps)]
        ) as session:
            found = None
            while not session.should_stop():
                _, found = session.run([train, result])
            return found


def test_a_policy_of_classes_learns_the_best_action_of_each_state(target: str) -> None:
    def build() -> Any:
        states = tf.random_uniform([64], 0, 4, tf.int32, seed=1)
        hidden = tf.layers.dense(tf.one_hot(states, 4), 8, tf.tanh)
        policy = tf.distributions.Categorical(logits=tf.layers.dense(hidden, 3))
        actions = policy.sample(seed=2)
        rewards = tf.to_float(tf.equal(actions, tf.gather(BEST, states)))
        advantage = tf.stop_gradient(rewards - tf.reduce_mean(rewards))
        score = policy.log_prob(actions) * advantage + 0.001 * policy.entropy()
        return -tf.reduce_mean(score), tf.reduce_mean(rewards)

    assert trained(target, build, 250) > 0.9


def test_a_policy_of_numbers_learns_by_scores_with_a_bounded_divergence(target: str) -> None:
    wanted = np.array([1.5, -0.5], np.float32)

    def build() -> Any:
        mean = tf.get_variable("mean", [2], initializer=tf.zeros_initializer())
        spread = tf.get_variable("spread", [2], initializer=tf.zeros_initializer())
        policy = tf.distributions.Normal(mean, tf.exp(spread))
        before = tf.distributions.Normal(tf.stop_gradient(mean), tf.stop_gradient(tf.exp(spread)))
        actions = tf.stop_gradient(policy.sample(256, seed=3))
        rewards = -tf.reduce_sum(tf.square(actions - wanted), 1)
        advantage = rewards - tf.reduce_mean(rewards)
        ratio = tf.exp(tf.reduce_sum(policy.log_prob(actions) - before.log_prob(actions), 1))
        divergence = tf.reduce_sum(tf.distributions.kl_divergence(before, policy))
        return divergence - tf.reduce_mean(ratio * advantage), tf.stack([mean, tf.exp(spread)])

    mean, spread = trained(target, build, 200)
    np.testing.assert_allclose(mean, wanted, atol=0.1)
    assert (spread < 0.5).all()


def test_a_policy_of_numbers_learns_by_gradients_of_its_samples(target: str) -> None:
    def build() -> Any:
        mean = tf.get_variable("centre", [], initializer=tf.zeros_initializer())
        policy = tf.distributions.Normal(mean, 0.1)
        return tf.reduce_mean(tf.square(policy.sample(32, seed=4) - 2.0)), mean

    np.testing.assert_allclose(trained(target, build, 200), 2.0, atol=0.1)
