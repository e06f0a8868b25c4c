"""Tests of variables that start from a checkpoint, and of waiting for checkpoints."""

import pathlib

import pytest

import capstan as tf


@pytest.fixture
def checkpoint(tmp_path: pathlib.Path) -> str:
    with tf.Graph().as_default(), tf.Session() as session:
        with tf.variable_scope("old"):
            tf.get_variable("a", initializer=[1.0, 2.0])
            tf.get_variable("inner/b", initializer=3.0)
        session.run(tf.global_variables_initializer())
        path: str = tf.train.Saver().save(session, str(tmp_path / "model"))
        return path


def variables(scope: str, *, is_resource: bool = False) -> list[tf.Variable]:
    with tf.variable_scope(scope, use_resource=is_resource):
        return [
            tf.get_variable("a", [2], initializer=tf.zeros_initializer()),
            tf.get_variable("inner/b", [], initializer=tf.zeros_initializer()),
        ]


def initialized(targets: list[tf.Variable]) -> list[object]:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return [value.tolist() for value in session.run(targets)]


@pytest.mark.e2e
@pytest.mark.parametrize("is_resource", [False, True])
def test_a_scope_starts_from_the_scope_of_a_checkpoint(
    checkpoint: str, tmp_path: pathlib.Path, is_resource: bool
):
    made = variables("new", is_resource=is_resource)
    tf.train.init_from_checkpoint(str(tmp_path), {"old/": "new/"})
    assert initialized(made) == [[1, 2], 3]


@pytest.mark.e2e
def test_single_variables_start_from_tensors(checkpoint: str):
    a, b = variables("new")
    tf.train.init_from_checkpoint(checkpoint, {"old/a": a, "old/inner/b": "new/inner/b"})
    assert initialized([a, b]) == [[1, 2], 3]


@pytest.mark.e2e
def test_a_graph_with_the_names_of_the_checkpoint_starts_from_all_of_it(checkpoint: str):
    made = variables("old")
    tf.train.init_from_checkpoint(checkpoint, {"/": "/"})
    assert initialized(made) == [[1, 2], 3]


@pytest.mark.e2e
@pytest.mark.parametrize(
    "assignment, message",
    [
        ({"old/c": "new/a"}, "Tensor old/c is not found in"),
        ({"old/": "new/inner/"}, r"Tensor old/b \(new/inner/b in old/\) is not found in"),
        ({"old/a": "new/inner/b"}, "doesn't match with shape of tensor old/a"),
        ({"old/a": "new/"}, "Should be 'scope/': 'other_scope/'"),
    ],
)
def test_an_assignment_that_does_not_fit_is_refused(
    checkpoint: str, assignment: dict[str, str], message: str
):
    variables("new")
    with pytest.raises(ValueError, match=message):
        tf.train.init_from_checkpoint(checkpoint, assignment)


def test_each_new_checkpoint_is_yielded_once_until_none_comes(tmp_path: pathlib.Path):
    variable = tf.get_variable("v", initializer=1.0)
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(variable.initializer)
        asked = []

        def save_another() -> bool:
            asked.append(len(asked))
            if len(asked) == 1:
                saver.save(session, str(tmp_path / "model"), global_step=2)
            return len(asked) > 1

        saver.save(session, str(tmp_path / "model"), global_step=1)
        found = tf.train.checkpoints_iterator(str(tmp_path), timeout=0, timeout_fn=save_another)
        assert [pathlib.Path(path).name for path in found] == ["model-1", "model-2"]
        assert asked == [0, 1]
        assert list(tf.train.checkpoints_iterator(str(tmp_path / "empty"), timeout=0)) == []
