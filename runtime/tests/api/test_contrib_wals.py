"""`WALSModel` reaches the factors that NumPy's solution of the normal equations reaches."""

from typing import Any

import clusters
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import capstan as tf

SIZE, UNOBSERVED = 3, 0.2


class Problem:
    """A sparse matrix with weights, and its solution with dense matrices of float64."""

    def __init__(self, rows: int, columns: int, seed: int, regularization: float | None) -> None:
        random = np.random.default_rng(seed)
        self.matrix = random.normal(size=(rows, columns)).round(3)
        self.is_entry = random.uniform(size=(rows, columns)) < 0.5
        # Every row and column has an entry.
        self.is_entry |= np.arange(rows)[:, None] % columns == np.arange(columns)
        self.is_entry |= np.arange(columns) % rows == np.arange(rows)[:, None]
        self.matrix *= self.is_entry
        self.row_weights, self.column_weights = (
            random.uniform(0, 3, rows),
            random.uniform(0, 3, columns),
        )
        self.u, self.v = random.normal(size=(rows, SIZE)), random.normal(size=(columns, SIZE))
        self.regularization = regularization

    def weights(self, row_weights: Any, column_weights: Any) -> Any:
        if row_weights is None:
            return np.full(self.matrix.shape, UNOBSERVED)
        products = np.multiply.outer(row_weights, column_weights)
        return UNOBSERVED + self.is_entry * products

    def solved(self, weights: Any, v: Any, matrix: Any) -> Any:
        """Return the factors of the rows of `matrix`, for the factors `v` of its columns."""
        penalty = (self.regularization or 0.0) * np.eye(SIZE)
        return np.stack(
            [
                np.linalg.solve((v.T * w) @ v + penalty, (v.T * w) @ row)
                for w, row in zip(weights, matrix, strict=True)
            ]
        )

    def loss(self, weights: Any, u: Any, v: Any) -> float:
        penalty = (self.regularization or 0.0) * ((u**2).sum() + (v**2).sum())
        return float((weights * (self.matrix - u @ v.T) ** 2).sum() + penalty)

    def entries(self, is_transposed: bool, order: Any = None) -> Any:
        """Return the entries as a SparseTensor, in any order."""
        places = np.argwhere(self.is_entry)
        values = self.matrix[tuple(places.T)]
        order = np.arange(len(values)) if order is None else order.permutation(len(values))
        shape = self.matrix.shape[::-1] if is_transposed else self.matrix.shape
        places = places[:, ::-1] if is_transposed else places
        return tf.SparseTensor(places[order], values[order].astype(np.float32), shape)


def shards(values: Any, count: int) -> list[Any]:
    return [part.tolist() for part in np.array_split(values, count)]


@settings(max_examples=6)
@given(
    rows=st.integers(1, 9),
    columns=st.integers(1, 9),
    seed=st.integers(0, 1000),
    data=st.data(),
)
def test_sweeps_reach_the_solution_of_the_normal_equations(
    rows: int, columns: int, seed: int, data: st.DataObject
) -> None:
    problem = Problem(rows, columns, seed, data.draw(st.sampled_from([0.1, 0.7])))
    row_shards, column_shards = (data.draw(st.integers(1, min(3, n))) for n in (rows, columns))
    kind = data.draw(st.sampled_from(["lists", "numbers", "mixed", "none"]))
    is_transposed, random = data.draw(st.booleans()), np.random.default_rng(seed)
    row_weights: Any = {"none": None, "numbers": 1.5}.get(kind, problem.row_weights)
    column_weights: Any = {"none": None, "lists": problem.column_weights}.get(kind, 0.5)
    with tf.Graph().as_default(), tf.Session() as session:
        model = tf.contrib.factorization.WALSModel(
            rows, columns, SIZE, UNOBSERVED, problem.regularization,
            row_init=[part.tolist() for part in np.array_split(problem.u, row_shards)],
            col_init=[part.tolist() for part in np.array_split(problem.v, column_shards)],
            num_row_shards=row_shards, num_col_shards=column_shards,
            row_weights=(
                shards(row_weights, row_shards) if np.ndim(row_weights) else row_weights
            ),
            col_weights=(
                shards(column_weights, column_shards) if np.ndim(column_weights) else column_weights
            ),
            use_factors_weights_cache=data.draw(st.booleans()),
            use_gramian_cache=data.draw(st.booleans()),
            use_scoped_vars=data.draw(st.booleans()),
        )  # fmt: skip
        given_entries = problem.entries(is_transposed, random)
        row_step = model.update_row_factors(given_entries, is_transposed)
        column_step = model.update_col_factors(given_entries, is_transposed)
        session.run([model.initialize_op, tf.local_variables_initializer()])
        session.run(model.worker_init)
        weights = problem.weights(
            None if row_weights is None else row_weights * np.ones(rows),
            None if row_weights is None else column_weights * np.ones(columns),
        )
        u, v = problem.u, problem.v
        for _ in range(2):
            session.run(model.row_update_prep_gramian_op)
            session.run(model.initialize_row_update_op)
            found = session.run(row_step)
            u = problem.solved(weights, v, problem.matrix)
            check(session, model.row_factors, u)
            check_losses(found, problem, weights, u, v)
            session.run(model.col_update_prep_gramian_op)
            session.run(model.initialize_col_update_op)
            found = session.run(column_step)
            v = problem.solved(weights.T, u, problem.matrix.T)
            check(session, model.col_factors, v)
            check_losses(found, problem, weights, u, v)


def check(session: Any, factors: Any, expected: Any) -> None:
    np.testing.assert_allclose(np.concatenate(session.run(factors)), expected, 2e-3, 2e-3)


def check_losses(found: Any, problem: Problem, weights: Any, u: Any, v: Any) -> None:
    _, _, loss, regularization, total = found
    np.testing.assert_allclose(loss + regularization, problem.loss(weights, u, v), 1e-3, 1e-3)
    np.testing.assert_allclose(total, weights.sum(), 1e-4)


def model_of(problem: Problem, **more: Any) -> Any:
    return tf.contrib.factorization.WALSModel(
        *problem.matrix.shape, SIZE, UNOBSERVED, problem.regularization, problem.u, problem.v,
        row_weights=problem.row_weights, col_weights=problem.column_weights, **more,
    )  # fmt: skip


def test_the_losses_of_some_rows_are_estimates_for_all() -> None:
    problem = Problem(6, 5, 1, 0.3)
    weights = problem.weights(problem.row_weights, problem.column_weights)
    some = [4, 1]
    places = [(row, column) for row in some for column in np.flatnonzero(problem.is_entry[row])]
    with tf.Graph().as_default(), tf.Session() as session:
        values = [np.float32(problem.matrix[place]) for place in places]
        model = model_of(problem)
        step = model.update_row_factors(tf.SparseTensor(places, values, [6, 5]))
        session.run([model.initialize_op, tf.local_variables_initializer()])
        session.run(model.worker_init)
        session.run(model.row_update_prep_gramian_op)
        session.run(model.initialize_row_update_op)
        new, _, loss, regularization, total = session.run(step)
        kept = session.run(model.row_factors[0])
    expected = problem.solved(weights[some], problem.v, problem.matrix[some])
    np.testing.assert_allclose(new, expected, 1e-3, 1e-3)
    u = problem.u.copy()
    u[some] = expected
    np.testing.assert_allclose(kept, u, 1e-3, 1e-3)
    residuals = weights[some] * (problem.matrix[some] - expected @ problem.v.T) ** 2
    np.testing.assert_allclose(loss, residuals.sum() * 3, 1e-3)
    penalty = 0.3 * ((expected**2).sum() * 3 + (problem.v**2).sum())
    np.testing.assert_allclose(regularization, penalty, 1e-3)
    rest = weights[some] - UNOBSERVED
    np.testing.assert_allclose(total, UNOBSERVED * 30 + rest.sum() * 3, 1e-4)


@pytest.mark.parametrize("given", [None, 0.7, [0.5, 2.0, 1.0, 3.0]])
@pytest.mark.parametrize("is_row", [True, False])
def test_projections_are_the_best_factors_of_new_rows(given: Any, is_row: bool) -> None:
    problem, new = Problem(6, 5, 2, 0.3), Problem(4, 5 if is_row else 6, 3, 0.3)
    others, other_weights = (
        (problem.v, problem.column_weights) if is_row else (problem.u, problem.row_weights)
    )
    with tf.Graph().as_default(), tf.Session() as session:
        model = model_of(problem, use_factors_weights_cache=False, use_gramian_cache=False)
        project = model.project_row_factors if is_row else model.project_col_factors
        found = project(new.entries(not is_row), projection_weights=given)
        session.run(model.initialize_op)
        session.run(model.row_update_prep_gramian_op)
        session.run(model.col_update_prep_gramian_op)
        found = session.run(found)
    own = np.ones(4) * (1 if given is None else given)
    weights = UNOBSERVED + new.is_entry * np.multiply.outer(own, other_weights)
    np.testing.assert_allclose(found, new.solved(weights, others, new.matrix), 1e-3, 1e-3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"row_weights": None}, "Pass None for both"),
        ({"row_weights": -1}, "Invalid row_weights"),
        ({"col_weights": "no"}, "The initial col_weights have 2 shards"),
        ({"num_row_shards": 2, "row_weights": [[1.0] * 4]}, "have 1 shards. There are 2"),
        ({"num_row_shards": 2, "row_init": [np.zeros((4, 2))]}, "have 1 shards. There are 2"),
    ],
)
def test_wrong_arguments_are_refused(arguments: Any, message: str) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match=message):
        tf.contrib.factorization.WALSModel(4, 5, 2, **arguments)


def test_the_input_is_a_sparse_tensor() -> None:
    with tf.Graph().as_default():
        model = tf.contrib.factorization.WALSModel(4, 5, 2)
        with pytest.raises(TypeError, match="must be a SparseTensor"):
            model.update_row_factors(np.zeros((4, 5)))


@pytest.mark.e2e
def test_shards_are_on_ps_and_copies_on_the_worker() -> None:
    problem = Problem(7, 5, 5, 0.4)
    with clusters.running(ps=2, worker=1) as servers, tf.Graph().as_default():
        spec = servers["worker:0"].server_def.cluster
        setter = tf.train.replica_device_setter(
            cluster=tf.train.ClusterSpec(spec), worker_device="/job:worker/task:0"
        )
        with tf.device(setter):
            model = tf.contrib.factorization.WALSModel(
                7, 5, SIZE, UNOBSERVED, 0.4, list(np.array_split(problem.u, 2)),
                list(np.array_split(problem.v, 2)), 2, 2,
                shards(problem.row_weights, 2), shards(problem.column_weights, 2),
            )  # fmt: skip
            row_step = model.update_row_factors(problem.entries(False))
            column_step = model.update_col_factors(problem.entries(True), transpose_input=True)
        for factors in (model.row_factors, model.col_factors, model.row_weights):
            assert [each.device for each in factors] == ["/job:ps/task:0", "/job:ps/task:1"]
        assert {each.device for each in tf.local_variables()} == {"/job:worker/task:0"}
        with tf.Session(servers["worker:0"].target) as session:
            session.run([model.initialize_op, tf.local_variables_initializer()])
            session.run(model.worker_init)
            weights = problem.weights(problem.row_weights, problem.column_weights)
            session.run(model.row_update_prep_gramian_op)
            session.run(model.initialize_row_update_op)
            session.run(row_step)
            u = problem.solved(weights, problem.v, problem.matrix)
            check(session, model.row_factors, u)
            session.run(model.col_update_prep_gramian_op)
            session.run(model.initialize_col_update_op)
            session.run(column_step)
            v = problem.solved(weights.T, u, problem.matrix.T)
            check(session, model.col_factors, v)
