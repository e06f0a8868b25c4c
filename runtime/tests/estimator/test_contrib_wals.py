"""`WALSMatrixFactorization` trains, projects and evaluates as TensorFlow's own tests want."""

import pathlib
from typing import Any

import numpy as np
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e
Factorization = tf.contrib.factorization.WALSMatrixFactorization
WEIGHT, PENALTY, SIZE = 0.1, 0.01, 2
RANDOM = np.random.default_rng(3)
MATRIX = np.round(RANDOM.normal(size=(5, 7)) + 1.5, 2) * (RANDOM.uniform(size=(5, 7)) < 0.7)
MATRIX[:, 0], MATRIX[0] = 1.0, 2.0
ROWS, COLUMNS = RANDOM.normal(size=(5, SIZE)), RANDOM.normal(size=(7, SIZE))
ROW_WEIGHTS, COLUMN_WEIGHTS = RANDOM.uniform(0.5, 1, 5), RANDOM.uniform(0.5, 1, 7)


def entries(matrix: Any, rows: Any, count: int) -> Any:
    """Return some rows of a matrix at the places of `rows`, as a SparseTensor."""
    places = np.argwhere(matrix)
    values = matrix[tuple(places.T)].astype(np.float32)
    at = np.stack([np.asarray(rows)[places[:, 0]], places[:, 1]], 1)
    return tf.SparseTensor(at, values, [count, matrix.shape[1]])


def input_fn(**more: Any) -> Any:
    """Return a function that gives all rows and columns in each step."""

    def build() -> Any:
        features = {
            Factorization.INPUT_ROWS: entries(MATRIX, range(5), 5),
            Factorization.INPUT_COLS: entries(MATRIX.T, range(7), 7),
            **{key: tf.constant(value) for key, value in more.items()},
        }
        return features, None

    return build


def model(folder: Any, **more: Any) -> Any:
    rows, columns = (
        [part.astype(np.float32) for part in np.array_split(factors, count)]
        for factors, count in ((ROWS, 2), (COLUMNS, 3))
    )
    return Factorization(
        5, 7, SIZE, WEIGHT, PENALTY, rows, columns,
        num_row_shards=2, num_col_shards=3,
        row_weights=[part.tolist() for part in np.array_split(ROW_WEIGHTS, 2)],
        col_weights=[part.tolist() for part in np.array_split(COLUMN_WEIGHTS, 3)],
        model_dir=str(folder), **more,
    )  # fmt: skip


def weights() -> Any:
    return WEIGHT + (MATRIX != 0) * np.outer(ROW_WEIGHTS, COLUMN_WEIGHTS)


def best(matrix: Any, by_entry: Any, others: Any) -> Any:
    """Return the best factors of rows for the factors of the columns."""
    return np.stack(
        [
            np.linalg.solve(
                (others.T * each) @ others + PENALTY * np.eye(SIZE), (others.T * each) @ row
            )
            for row, each in zip(matrix, by_entry, strict=True)
        ]
    )


def loss(rows: Any, columns: Any) -> float:
    error = (weights() * (MATRIX - rows @ columns.T) ** 2).sum()
    return float(error + PENALTY * ((rows**2).sum() + (columns**2).sum()))


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, 2e-3, 2e-3)


@pytest.mark.parametrize("has_caches", [True, False])
def test_sweeps_take_turns_and_go_on_from_a_checkpoint(
    tmp_path: pathlib.Path, has_caches: bool
) -> None:
    caches = dict.fromkeys(
        ("use_factors_weights_cache_for_training", "use_gramian_cache_for_training"), has_caches
    )
    trained = model(tmp_path, **caches)
    trained.fit(input_fn=input_fn(), steps=1)
    rows = best(MATRIX, weights(), COLUMNS)
    close(np.concatenate(trained.get_row_factors()), rows)
    close(np.concatenate(trained.get_col_factors()), COLUMNS)
    trained.fit(input_fn=input_fn(), steps=2)
    columns = best(MATRIX.T, weights().T, rows)
    close(np.concatenate(trained.get_col_factors()), columns)
    close(np.concatenate(trained.get_row_factors()), best(MATRIX, weights(), columns))
    assert [len(part) for part in trained.get_row_factors()] == [3, 2]
    assert trained.get_variable_value("completed_sweeps") == 3
    assert trained.get_variable_value("global_step") == 3
    close(trained.get_variable_value("WALS_loss"), loss(best(MATRIX, weights(), columns), columns))


def test_a_sweep_lasts_until_all_rows_were_seen(tmp_path: pathlib.Path) -> None:
    def build() -> Any:
        batch = tf.data.Dataset.from_tensor_slices(
            (MATRIX.astype(np.float32), np.arange(5))
        ).repeat().batch(2).make_one_shot_iterator().get_next()  # fmt: skip
        values, rows = batch
        places = tf.where(tf.not_equal(values, 0))
        at = tf.stack([tf.gather(rows, places[:, 0]), places[:, 1]], 1)
        given = tf.SparseTensor(at, tf.gather_nd(values, places), [5, 7])
        columns = entries(MATRIX.T, range(7), 7)
        return {Factorization.INPUT_ROWS: given, Factorization.INPUT_COLS: columns}, None

    trained = model(tmp_path)
    trained.fit(input_fn=build, steps=2)
    assert trained.get_variable_value("completed_sweeps") == 0
    # The input begins again, so that the last row comes in the third step.
    trained.fit(input_fn=build, steps=3)
    assert trained.get_variable_value("completed_sweeps") == 1
    close(np.concatenate(trained.get_row_factors()), best(MATRIX, weights(), COLUMNS))


def test_training_stops_after_its_sweeps(tmp_path: pathlib.Path) -> None:
    trained = model(tmp_path, max_sweeps=3)
    trained.fit(input_fn=input_fn(), steps=20)
    assert trained.get_variable_value("completed_sweeps") == 3
    assert trained.get_variable_value("global_step") == 3


@pytest.mark.parametrize("is_row", [True, False])
def test_new_rows_and_columns_are_projected(tmp_path: pathlib.Path, is_row: bool) -> None:
    trained = model(tmp_path)
    # A sweep over the columns computes what their projections need.
    trained.fit(input_fn=input_fn(), steps=1 if is_row else 2)
    rows = best(MATRIX, weights(), COLUMNS)

    def build() -> Any:
        chosen, columns = ([1, 4], [5, 3, 1])
        given = {
            Factorization.INPUT_ROWS: entries(MATRIX[chosen], range(2), 2),
            Factorization.INPUT_COLS: entries(MATRIX[:, columns].T, range(3), 3),
            Factorization.PROJECT_ROW: tf.constant(is_row),
            Factorization.PROJECTION_WEIGHTS: tf.constant(
                (ROW_WEIGHTS[chosen] if is_row else COLUMN_WEIGHTS[columns]).astype(np.float32)
            ),
        }
        return given, None

    projections = trained.get_projections(build)
    found = [next(projections) for _ in range(2 if is_row else 3)]
    expected = rows[[1, 4]] if is_row else best(MATRIX.T, weights().T, rows)[[5, 3, 1]]
    close(found, expected)


def test_an_evaluation_measures_the_loss(tmp_path: pathlib.Path) -> None:
    trained = model(tmp_path)
    trained.fit(input_fn=input_fn(), steps=2)
    rows = best(MATRIX, weights(), COLUMNS)
    columns = best(MATRIX.T, weights().T, rows)
    found = trained.evaluate(input_fn=input_fn(project_row=False), steps=1)
    close(found["loss"], loss(rows, columns))


def test_one_worker_trains(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = '{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 0}}'
    monkeypatch.setenv("TF_CONFIG", cluster)
    with pytest.raises(ValueError, match="single worker replica"):
        model(tmp_path, config=tf.contrib.learn.RunConfig())
