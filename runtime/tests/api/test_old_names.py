"""Old names, versions, logging at intervals, and files beside a module."""

import os
import pathlib

import pytest

import capstan as tf
from capstan.core import release


def test_names_of_before_1_0_do_what_the_new_names_do() -> None:
    with tf.Graph().as_default():
        shared = tf.Variable(1.0)
        local = tf.Variable(2.0, collections=[tf.GraphKeys.LOCAL_VARIABLES])
        assert tf.all_variables() == [shared]
        with tf.Session() as session:
            session.run([tf.initialize_all_variables(), tf.initialize_local_variables()])
            assert session.run([shared, local]) == [1.0, 2.0]
        with tf.Session() as session:
            session.run(tf.initialize_variables([local], name="two"))
            assert session.run(tf.report_uninitialized_variables()).tolist() == [b"Variable"]


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_step_can_assert_that_variables_have_values(use_resource: bool) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        assert tf.assert_variables_initialized() is None
        vector = tf.Variable([1.0], use_resource=use_resource)
        tf.Variable(2.0, use_resource=use_resource)
        checks = [tf.assert_variables_initialized([vector]), tf.assert_variables_initialized()]
        for check in checks:
            with pytest.raises(tf.errors.FailedPreconditionError):
                session.run(check)
        session.run(vector.initializer)
        assert session.run(checks[0]) == 1
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run(checks[1])
        session.run(tf.global_variables_initializer())
        assert session.run(checks[1]).tolist() == [1, 0]


def test_versions_are_known() -> None:
    """Programs choose between old and new functions of TensorFlow by its version."""
    assert tf.VERSION == tf.version.VERSION == tf.__version__ == "1.15.0"
    assert tf.GIT_VERSION == tf.__git_version__ == f"v1.15.0-capstan-{release.VERSION}"
    assert tf.COMPILER_VERSION == tf.version.COMPILER_VERSION
    producer = tf.Graph().as_graph_def().versions.producer
    assert producer == tf.version.GRAPH_DEF_VERSION


def test_messages_are_logged_at_intervals(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "capstan")
    for count in range(5):
        tf.logging.log_every_n(tf.logging.INFO, "every %d", 2, count)
        tf.logging.log_first_n(tf.logging.INFO, "first %d", 2, count)
    tf.logging.log_first_n(tf.logging.INFO, "another line", 1)
    tf.logging.TaskLevelStatusMessage("status")
    assert sorted(caplog.messages) == [
        *("another line", "every 0", "every 2", "every 4", "first 0", "first 1", "status"),
    ]


def test_files_are_found_beside_the_module_that_asks() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    assert tf.resource_loader.get_data_files_path() == here
    assert tf.resource_loader.get_root_dir_with_all_resources() == here
    found = tf.resource_loader.get_path_to_datafile("test_names.py")
    assert pathlib.Path(found).is_file()
    assert tf.resource_loader.load_resource("api/version.py").startswith(b'"""`tf.version`')
    assert tf.resource_loader.readahead_file_path("x") == "x"


def test_arrays_are_written_to_tensor_messages_and_read_again() -> None:
    message = tf.make_tensor_proto([[1, 2]], tf.int16)
    assert (message.dtype, [dim.size for dim in message.tensor_shape.dim]) == (5, [1, 2])
    assert tf.make_ndarray(message).tolist() == [[1, 2]]
    assert tf.make_ndarray(tf.make_tensor_proto(1.5, shape=[2])).tolist() == [1.5, 1.5]
    assert tf.make_ndarray(tf.make_tensor_proto(["a"])).tolist() == [b"a"]
    with pytest.raises(TypeError, match="Expected Tensor's shape"):
        tf.make_tensor_proto(1.5, shape=[2], verify_shape=True)


def test_the_value_of_a_constant_operation_is_read_as_a_message() -> None:
    constant = tf.constant([[1.0, 2.0]])
    value = tf.make_ndarray(constant.op.get_attr("value"))
    assert value.tolist() == [[1, 2]]
    value[0, 0] = 3  # A program may change its copy.
    with tf.Session() as session:
        assert session.run(constant).tolist() == [[1, 2]]
