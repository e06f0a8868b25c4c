"""The thread pools of a session: ConfigProto.session_inter_op_thread_pool and RunOptions."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

import capstan as tf


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def settings(*counts: int, **others: Any) -> Any:
    config = tf.ConfigProto(**others)
    for count in counts:
        config.session_inter_op_thread_pool.add(num_threads=count)
    return config


def run_in(session: Any, tensor: Any, pool: int) -> Any:
    """Run a step in a pool, in each of the ways to run one."""
    options = tf.RunOptions(inter_op_thread_pool=pool)
    metadata = tf.RunMetadata()
    assert session.run(tensor, options=options) == session.run(
        tensor, options=options, run_metadata=metadata
    )
    return session.make_callable(tensor, accept_options=True)(options=options)


@pytest.mark.parametrize(
    ("counts", "pools"), [((), [-1, 0]), ((1,), [-1, 0]), ((2, 0, 1), [-1, 0, 1, 2])]
)
def test_a_step_chooses_one_of_the_pools(counts: tuple[int, ...], pools: list[int]) -> None:
    one = tf.constant(1) + tf.placeholder_with_default(0, [])
    with tf.Session(config=settings(*counts)) as session:
        for pool in pools:
            assert run_in(session, one, pool) == 1
        for wrong in (-2, len(pools) - 1):
            with pytest.raises(
                tf.errors.InvalidArgumentError, match=f"Invalid inter_op_thread_pool: {wrong}"
            ):
                run_in(session, one, wrong)


def test_a_pool_limits_the_threads_of_a_step() -> None:
    threads: set[int] = set()

    def call() -> float:
        threads.add(threading.get_ident())
        return 1.0

    calls = [tf.py_func(call, [], tf.float64) for _ in range(20)]
    with tf.Session(config=settings(1)) as session:
        session.run(calls)
    assert len(threads) == 1


def test_a_server_ignores_the_choice_of_a_step_and_refuses_pools() -> None:
    server = tf.train.Server.create_local_server()
    one = tf.constant(1) + tf.placeholder_with_default(0, [])
    with tf.Session(server.target) as session:
        assert run_in(session, one, 7) == 1
    for config in (settings(1), settings(use_per_session_threads=True)):
        with (
            tf.Session(server.target, config=config) as session,
            pytest.raises(
                tf.errors.InvalidArgumentError,
                match="Distributed session does not support session thread pool options",
            ),
        ):
            session.run(one)
