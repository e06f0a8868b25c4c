"""What a saver refuses: arguments, paths, and checkpoints of another model."""

import pathlib
import re

import numpy as np
import pytest

import capstan as tf
from capstan.resources import bundle_writer


@pytest.mark.parametrize(
    "stored, error, message",
    [
        ({}, tf.errors.NotFoundError, "Key v not found in checkpoint"),
        (
            {"v": np.zeros(2, np.float64)},
            tf.errors.InvalidArgumentError,
            "tensor_name = v; expected dtype float32 does not equal original dtype float64",
        ),
        (
            {"v": np.zeros(3, np.float32)},
            tf.errors.InvalidArgumentError,
            "Assign requires shapes of both tensors to match. lhs shape= [2] rhs shape= [3]",
        ),
    ],
)
@pytest.mark.parametrize("is_initialized", [True, False])
def test_a_checkpoint_of_another_model_is_refused(
    tmp_path: pathlib.Path,
    stored: dict[str, np.ndarray],
    error: type[Exception],
    message: str,
    is_initialized: bool,
):
    bundle_writer.write(str(tmp_path / "m"), [bundle_writer.Piece(k, v) for k, v in stored.items()])
    variable = tf.Variable(np.zeros(2, np.float32), name="v")
    saver = tf.train.Saver()
    with tf.Session() as session:
        if is_initialized:
            session.run(variable.initializer)
        with pytest.raises(error, match=re.escape(message)) as caught:
            saver.restore(session, str(tmp_path / "m"))
    assert str(caught.value).startswith("Restoring from checkpoint failed. This is most likely due")


@pytest.mark.parametrize("use_resource", [False, True])
def test_the_variable_that_does_not_fit_a_checkpoint_is_named(
    tmp_path: pathlib.Path, use_resource: bool
) -> None:
    stored = {"a": np.zeros(2, np.float32), "b": np.zeros(3, np.float32)}
    path = str(tmp_path / "m")
    bundle_writer.write(path, [bundle_writer.Piece(key, value) for key, value in stored.items()])
    for name in stored:
        tf.get_variable(name, [2], use_resource=use_resource)
    with tf.Session() as session:
        message = f"Variable b does not fit its value in {path}: "
        with pytest.raises(tf.errors.InvalidArgumentError, match=re.escape(message)):
            tf.train.Saver().restore(session, path)


@pytest.mark.parametrize("use_resource", [False, True])
def test_the_variable_whose_value_cannot_be_reshaped_is_named(
    tmp_path: pathlib.Path, use_resource: bool
) -> None:
    stored = {"a": np.zeros(4, np.float32), "b": np.zeros(3, np.float32)}
    path = str(tmp_path / "m")
    bundle_writer.write(path, [bundle_writer.Piece(key, value) for key, value in stored.items()])
    for name in stored:
        tf.get_variable(name, [2, 2], use_resource=use_resource)
    with tf.Session() as session:
        message = f"Variable b does not fit its value in {path}: Input to reshape is a tensor with "
        with pytest.raises(tf.errors.InvalidArgumentError, match=re.escape(message)):
            tf.train.Saver(reshape=True).restore(session, path)


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("device", ["/job:ps/task:7", "/device:GPU:99"])
def test_a_variable_without_a_device_does_not_blame_the_checkpoint(
    tmp_path: pathlib.Path, device: str, use_resource: bool
) -> None:
    path = str(tmp_path / "m")
    bundle_writer.write(path, [bundle_writer.Piece("v", np.zeros(2, np.float32))])
    with tf.device(device):
        tf.get_variable("v", [2], use_resource=use_resource)
    saver = tf.train.Saver()
    with (
        tf.Session() as session,
        pytest.raises(tf.errors.InvalidArgumentError, match=r"^Cannot assign a device"),
    ):
        saver.restore(session, path)


def test_a_saver_without_variables_is_refused():
    with pytest.raises(ValueError, match="No variables to save"):
        tf.train.Saver()


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ({"var_list": [3]}, TypeError, "Variable to save is not a Variable: 3"),
        ({"var_list": "list"}, ValueError, "At least two variables have the same name: v"),
        ({"var_list": "list", "defer_build": True}, ValueError, "build cannot be deferred"),
        ({"write_version": 3}, ValueError, "Unexpected write_version: 3. Use 2 for the format V2"),
        ({"var_list": "names"}, ValueError, "restored with two names: b"),
        ({"var_list": {"a": 3}}, TypeError, "Not a variable: 3"),
        ({"var_list": 3}, TypeError, "should be passed in a dict or a list. Got 3"),
        ({"var_list": "slices"}, ValueError, "Slices must all be slices"),
        ({"saver_def": tf.train.SaverDef()}, ValueError, "must specify the save_tensor_name"),
    ],
)
def test_invalid_arguments_of_a_saver_are_refused(
    arguments: dict[str, object], error: type[Exception], message: str
):
    variable = tf.Variable(0, name="v")
    twice: dict[str, object] = {
        "list": [variable, variable],
        "names": {"a": variable, "b": variable},
        "slices": {"a": [variable]},
    }
    var_list = arguments.get("var_list")
    if isinstance(var_list, str):
        arguments = {**arguments, "var_list": twice[var_list]}
    with pytest.raises(error, match=message):
        tf.train.Saver(**arguments)


@pytest.mark.parametrize(
    "path, arguments, message",
    [
        ("m", {"latest_filename": "a/b"}, "'latest_filename' must not contain path components"),
        ("checkpoint", {}, "'latest_filename' collides with 'save_path'"),
        ("file/m", {}, r"Parent directory of .* doesn't exist, can't save."),
    ],
)
def test_a_path_that_cannot_be_saved_to_is_refused(
    tmp_path: pathlib.Path, path: str, arguments: dict[str, str], message: str
):
    (tmp_path / "file").write_text("")
    variable = tf.Variable(0)
    with tf.Session() as session:
        session.run(variable.initializer)
        with pytest.raises(ValueError, match=message):
            tf.train.Saver().save(session, str(tmp_path / path), **arguments)


def test_restoring_without_a_checkpoint_is_refused(tmp_path: pathlib.Path):
    tf.Variable(0)
    saver = tf.train.Saver()
    with tf.Session() as session:
        with pytest.raises(ValueError, match=r"Can't load save_path when it is None\."):
            saver.restore(session, None)
        with pytest.raises(ValueError, match="The passed save_path is not a valid checkpoint: "):
            saver.restore(session, str(tmp_path / "m"))


def test_a_checkpoint_without_its_values_is_refused(tmp_path: pathlib.Path) -> None:
    bundle_writer.write(str(tmp_path / "m"), [bundle_writer.Piece("v", np.zeros(2, np.float32))])
    (tmp_path / "m.data-00000-of-00001").unlink()
    tf.Variable(np.zeros(2, np.float32), name="v")
    saver = tf.train.Saver()
    with tf.Session() as session, pytest.raises(tf.errors.NotFoundError) as refused:
        saver.restore(session, str(tmp_path / "m"))
    refused.match(f"A file of the checkpoint {re.escape(str(tmp_path / 'm'))} is missing")
    assert "Variable name" not in refused.value.message


def test_saving_an_uninitialised_variable_fails_and_leaves_no_file(tmp_path: pathlib.Path):
    tf.Variable(0)
    saver = tf.train.Saver()
    with (
        tf.Session() as session,
        pytest.raises(
            tf.errors.FailedPreconditionError,
            match="Attempting to use uninitialized value Variable",
        ),
    ):
        saver.save(session, str(tmp_path / "m"))
    assert not list(tmp_path.iterdir())


def test_a_checkpoint_is_saved_only_from_a_session(tmp_path: pathlib.Path) -> None:
    saver = tf.train.Saver([tf.Variable(1.0)])
    with pytest.raises(TypeError, match="'sess' must be a Session; None"):
        saver.save(None, str(tmp_path / "m"))
