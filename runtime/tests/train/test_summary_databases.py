"""`tf.contrib.summary.create_db_writer` writes summaries to a database of SQLite."""

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import capstan as tf

summary = tf.contrib.summary


def rows(path: Path, query: str) -> list[Any]:
    with contextlib.closing(sqlite3.connect(path)) as database:
        return database.execute(query).fetchall()


def write(path: Path, run: str, values: list[float], experiment: str = "mnist") -> None:
    """Write scalars in the steps from 0 on."""
    with tf.Graph().as_default(), tf.Session() as session:
        step = tf.train.create_global_step()
        loss = tf.placeholder(tf.float32, [])
        writer = summary.create_db_writer(f"file:{path}", experiment, run, "ada")
        with writer.as_default(), summary.always_record_summaries():
            summary.scalar("loss", loss)
        session.run(tf.global_variables_initializer())
        session.run(summary.summary_writer_initializer_op())
        for value in values:
            session.run(summary.all_summary_ops(), {loss: value})
            session.run(step.assign_add(1))
        session.run(writer.close())


def test_runs_of_one_experiment_share_its_row(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    write(path, "first", [0.5, 0.25])
    write(path, "second", [0.125])
    assert rows(path, "SELECT experiment_name FROM Experiments") == [("mnist",)]
    assert rows(path, "SELECT user_name FROM Users") == [("ada",)]
    query = (
        "SELECT run_name, tag_name, step, data FROM Tensors JOIN Tags ON series = tag_id "
        "JOIN Runs USING (run_id) ORDER BY run_name, step"
    )
    found = [(*row, np.frombuffer(data, "<f4").tolist()) for *row, data in rows(path, query)]
    assert found == [
        ("first", "loss", 0, [0.5]), ("first", "loss", 1, [0.25]), ("second", "loss", 0, [0.125])
    ]  # fmt: skip
    (unfinished,) = rows(path, "SELECT count(*) FROM Runs WHERE finished_time IS NULL")
    assert unfinished == (0,)


def test_empty_names_make_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "alone.sqlite"
    write(path, "", [1.0])
    assert rows(path, "SELECT count(*) FROM Runs") == [(0,)]
    assert rows(path, "SELECT run_id, tag_name FROM Tags") == [(None, "loss")]


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"experiment_name": "\0"}, "experiment_name .* must match"),
        ({"run_name": "<b>"}, "run_name .* must match"),
        ({"user_name": "-hi"}, "user_name .-hi. must match"),
    ],
)
def test_names_that_tensorboard_cannot_show_are_refused(
    named: dict[str, str], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message):
        summary.create_db_writer(str(tmp_path / "x"), **named)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("no database" * 100)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Sqlite::Open\(.*text\) failed"):
        write(path, "run", [1.0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="unable to open"):
        write(tmp_path / "missing" / "x", "run", [1.0])


def test_a_summary_that_cannot_be_written_leaves_no_row(tmp_path: Path) -> None:
    path = tmp_path / "types.sqlite"
    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.create_global_step()
        writer = summary.create_db_writer(str(path), "e", "r", "ada")
        with writer.as_default(), summary.always_record_summaries():
            refused = summary.generic("flags", tf.constant([True]))
            kept = summary.generic("numbers", tf.constant([1]))
        session.run(tf.global_variables_initializer())
        session.run(summary.summary_writer_initializer_op())
        with pytest.raises(tf.errors.UnimplementedError, match="bool tensors unsupported"):
            session.run(refused)
        assert rows(path, "SELECT count(*) FROM Runs") == [(0,)]
        session.run(kept)
        session.run(writer.close())
    assert rows(path, "SELECT tag_name, run_name FROM Tags JOIN Runs USING (run_id)") == [
        ("numbers", "r")
    ]
