"""Random ops with a key or with the state of a generator draw what TensorFlow draws on a CPU."""

from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

Program = Callable[[Any], Any]


def both(v1: Any, tasks: genuine.Tasks, program: Program) -> list[Any]:
    """Return what a program of TensorFlow's client fetches on Capstan's servers and on its own."""
    found = []
    for target in (tasks.target(), ""):
        with v1.Graph().as_default(), v1.Session(target) as session:
            fetches = program(v1)
            session.run(v1.global_variables_initializer())
            found.append(session.run(fetches))
    return found


def assert_close(ours: Any, theirs: Any) -> None:
    for mine, expected in zip(ours, theirs, strict=True):
        assert (mine.dtype, mine.shape) == (expected.dtype, expected.shape)
        if mine.dtype.kind in "iu":
            np.testing.assert_array_equal(mine, expected)
        else:
            exact, wide = np.float64(expected), np.float64(mine)
            np.testing.assert_allclose(wide, exact, rtol=3e-7, atol=2e-7)


@pytest.mark.parametrize("alg", ["philox", "auto_select"])
def test_newer_clients_draw_without_a_state(v1: Any, tasks: genuine.Tasks, alg: str) -> None:
    def program(v1: Any) -> Any:
        random, seed = v1.random, [3, -7]
        return [
            *(
                draw([5, 3], seed, dtype=dtype, alg=alg)
                for dtype in (v1.float16, v1.float32, v1.float64)
                for draw in (random.stateless_uniform, random.stateless_normal)
            ),
            random.stateless_truncated_normal([41], seed, alg=alg),
            random.stateless_uniform([7], seed, -5, 9, v1.int32, alg=alg),
            random.stateless_uniform([7], seed, 3, 2**40, v1.int64, alg=alg),
            *(
                random.stateless_uniform([7], seed, None, None, dtype, alg=alg)
                for dtype in (v1.int32, v1.int64, v1.uint32, v1.uint64)
            ),
            random.experimental.stateless_split(seed, 3),
            random.experimental.stateless_fold_in(np.int64(seed), 5),
        ]

    assert_close(*both(v1, tasks, program))


def test_a_generator_of_a_newer_client_continues_its_stream(v1: Any, tasks: genuine.Tasks) -> None:
    def program(v1: Any) -> Any:
        module = v1.random.experimental
        generator = module.Generator.from_state([2**62 + 7, -1, 5], alg="philox")
        drawn: list[Any] = []
        for draw in (
            lambda: generator.normal([3]),
            lambda: generator.uniform([2, 2], dtype=v1.float64),
            lambda: generator.truncated_normal([9]),
            lambda: generator.uniform([4], 3, 9, dtype=v1.int32),
            lambda: generator.uniform_full_int([4]),
            lambda: generator.make_seeds(2),
            lambda: generator.state.read_value(),
        ):
            with v1.control_dependencies(drawn):
                drawn.append(draw())
        return drawn

    assert_close(*both(v1, tasks, program))


@pytest.mark.parametrize("state", [[3, 4, 5], [-256, -1, 9]])
def test_old_ops_of_a_generator_draw_its_stream(
    v1: Any, tasks: genuine.Tasks, state: list[int]
) -> None:
    def program(v1: Any) -> Any:
        ops = v1.raw_ops
        cell = v1.get_variable("state", initializer=np.int64(state), use_resource=True)
        common = {"resource": cell.handle, "algorithm": np.int64(1)}
        drawn: list[Any] = []
        for draw in (
            lambda: ops.StatefulUniform(shape=np.int64([5]), **common),
            lambda: ops.StatefulStandardNormalV2(shape=[5], dtype=v1.float64, **common),
            lambda: ops.StatefulTruncatedNormal(shape=[5], **common),
            lambda: ops.StatefulUniformFullInt(shape=[5], **common),
            lambda: ops.StatefulUniformInt(
                shape=[5], minval=np.int64(-3), maxval=np.int64(4), **common
            ),
            lambda: ops.RngReadAndSkip(resource=cell.handle, alg=1, delta=np.uint64(7)),
        ):
            with v1.control_dependencies(drawn):
                drawn.append(draw())
        with v1.control_dependencies(drawn):
            skip = ops.RngSkip(delta=np.int64(3), **common)
        with v1.control_dependencies([skip]):
            return [*drawn, cell.read_value()]

    assert_close(*both(v1, tasks, program))


def test_a_generator_of_capstan_draws_what_that_of_a_newer_client_draws(
    v1: Any, tasks: genuine.Tasks
) -> None:
    def program(tf: Any) -> list[Any]:
        module = tf.random.experimental
        first = module.Generator.from_key_counter(5, [2**62 + 7, -1], 1)
        second = module.Generator.from_seed(2**70 + 3, 1)
        drawn: list[Any] = [first.key]
        for draw in (
            lambda: first.normal([3], 1.0, 2.0),
            lambda: first.uniform([2, 2], -1, dtype=tf.float64),
            lambda: first.truncated_normal([9]),
            lambda: second.uniform([4], 3, 9, dtype=tf.int32),
            lambda: second.uniform_full_int([4]),
            lambda: second.make_seeds(2),
            lambda: second.state.read_value(),
            lambda: first.state.read_value(),
        ):
            with tf.control_dependencies(drawn):
                drawn.append(draw())
        return drawn

    with capstan.Graph().as_default(), capstan.Session() as session:
        fetches = program(capstan)
        session.run(capstan.global_variables_initializer())
        ours = session.run(fetches)
    with v1.Graph().as_default(), v1.Session() as session:
        fetches = program(v1)
        session.run(v1.global_variables_initializer())
        assert_close(ours, session.run(fetches))


def test_generators_are_copied_split_reset_and_shared_by_a_graph() -> None:
    module = capstan.random.experimental
    with capstan.Graph().as_default(), capstan.Session() as session:
        source = module.Generator.from_state([1, 2, 3], 1)
        copy = module.Generator(copy_from=source)
        session.run([source.state.initializer, copy.state.initializer])
        one, two = source.split(2)
        assert module.get_global_generator() is module.get_global_generator()
        module.set_global_generator(one)
        assert module.get_global_generator() is one
        session.run([one.state.initializer, two.state.initializer])
        states = session.run([one.state, two.state])
        assert [list(state[:2]) for state in states] == [[0, 0], [0, 0]]
        assert states[0][2] != states[1][2]
        session.run(copy.skip(1))
        assert session.run(copy.state).tolist() == [257, 2, 3]
        session.run(copy.reset([4, 5, 6]))
        assert session.run(copy.state).tolist() == [4, 5, 6]
        session.run(copy.reset_from_seed(-1))
        assert session.run(copy.state).tolist() == module.create_rng_state(-1, 1).tolist()
        with pytest.raises(ValueError, match="Unsupported algorithm id: 9"):
            module.Generator.from_seed(1, 9)
        with pytest.raises(ValueError, match="either copy_from, or both state and alg"):
            module.Generator(state=[1, 2, 3])


def test_numbers_with_parameters_have_their_means(v1: Any, tasks: genuine.Tasks) -> None:
    count = 4000

    def program(v1: Any) -> Any:
        random, seed = v1.random, [5, 6]
        return [
            random.stateless_gamma([count, 2], seed, [0.5, 8.0]),
            random.stateless_poisson([count, 2], seed, [0.5, 8.0], v1.float64),
            random.stateless_binomial([count, 2], seed, [4.0, 9.0], [0.5, 0.25], v1.int32),
            random.stateless_parameterized_truncated_normal(
                [count, 2], seed, 0.0, 1.0, [0.0, -2.0], 2.0
            ),
            random.experimental.Generator.from_seed(5).binomial([count, 2], [4.0, 9.0], 0.5),
        ]

    for mine, expected in zip(*both(v1, tasks, program), strict=True):
        assert (mine.dtype, mine.shape) == (expected.dtype, expected.shape)
        error = 6 * expected.std(0) / count**0.5
        assert (np.abs(mine.mean(0) - expected.mean(0)) < error).all()


def test_the_poisson_op_of_old_graphs_has_its_mean() -> None:
    with capstan.Graph().as_default(), capstan.Session() as session:
        drawn = capstan.raw_ops.RandomPoisson(shape=[4000], rate=[0.5, 8.0], seed=3, seed2=4)
        assert drawn.shape == (4000, 2)
        found = session.run(drawn)
    np.testing.assert_allclose(found.mean(0), [0.5, 8], rtol=0.1)


@pytest.mark.parametrize(
    "call",
    [
        lambda v1: v1.raw_ops.StatelessRandomUniformV2(
            shape=[2], key=np.uint64([1]), counter=np.uint64([1, 2]), alg=7
        ),
        lambda v1: v1.raw_ops.StatelessRandomUniformV2(
            shape=[2],
            key=v1.placeholder_with_default(np.uint64([[1]]), None),
            counter=np.uint64([1, 2]),
            alg=1,
        ),
        lambda v1: v1.random.stateless_binomial([2, 3], [1, 2], [4.0, 5.0], 0.5),
    ],
)
def test_wrong_keys_and_parameters_are_refused(
    v1: Any, tasks: genuine.Tasks, call: Program
) -> None:
    for target in (tasks.target(), ""):
        wrong = pytest.raises((v1.errors.InvalidArgumentError, ValueError))
        with v1.Graph().as_default(), v1.Session(target) as session, wrong:
            session.run(call(v1))


def test_the_operations_behind_a_newer_client_draw(v1: Any, tasks: genuine.Tasks) -> None:
    import tensorflow as tf

    ops, seed = tf.raw_ops, [3, -7]

    def program(v1: Any) -> Any:
        key, counter, alg = ops.StatelessRandomGetKeyCounterAlg(seed=seed)
        full = ops.StatelessRandomUniformFullInt(shape=[5], seed=np.int32(seed), dtype=v1.int64)
        return [key, counter, alg, full]

    assert_close(*both(v1, tasks, program))
    with v1.Graph().as_default(), v1.Session(tasks.target()) as session:
        drawn = ops.NonDeterministicInts(shape=[4, 3], dtype=v1.int64)
        alg = ops.StatelessRandomGetAlg()
        gammas = ops.StatelessRandomGammaV2(shape=[200, 2], seed=seed, alpha=[0.5, 40.0])
        values, number, found = session.run([drawn, alg, gammas])
    assert (values.shape, values.dtype, number.dtype) == ((4, 3), np.int64, np.int32)
    assert len(np.unique(values)) == 12
    np.testing.assert_allclose(found.mean(0), [0.5, 40.0], rtol=0.3)
