"""`tf.train.ServerDef`: a message that defines a server, and that a server returns."""

import capstan as tf
from capstan.core.protobuf import config_pb2, tensorflow_server_pb2


def message(job_name: str = "worker", **more: object) -> tf.train.ServerDef:
    """Return the definition of a task of a cluster with two jobs, on ports that are free."""
    cluster = tf.train.ClusterSpec({"ps": ["localhost:1"], "worker": {2: "localhost:0"}})
    return tf.train.ServerDef(
        cluster=cluster.as_cluster_def(), job_name=job_name, task_index=2, **more
    )


def test_a_message_survives_serialization() -> None:
    found = tf.train.ServerDef.FromString(message(protocol="grpc").SerializeToString())
    assert found == message(protocol="grpc")
    assert found.cluster.job[1].tasks[2] == "localhost:0"
    assert tensorflow_server_pb2.ServerDef is tf.train.ServerDef


def test_a_server_returns_the_definition_that_it_got() -> None:
    server = tf.train.Server(message(), start=False)
    assert server.server_def == message()
    named = tf.train.Server(message("ps"), job_name="worker", protocol="grpc", start=False)
    assert named.server_def == message(protocol="grpc")


def test_the_settings_of_sessions_are_in_the_definition() -> None:
    settings = tf.ConfigProto(inter_op_parallelism_threads=3)
    given = message(default_session_config=settings)
    more = tf.ConfigProto(log_device_placement=True)
    server = tf.train.Server(given, config=more, start=False)
    assert server.settings.inter_op_parallelism_threads == 3
    assert server.settings.log_device_placement
    found = server.server_def.default_session_config
    assert (found.inter_op_parallelism_threads, found.log_device_placement) == (3, True)
    assert not given.default_session_config.log_device_placement


def test_the_messages_of_a_config_are_in_its_module() -> None:
    options = config_pb2.RPCOptions(use_rpc_for_inprocess_master=True)
    assert config_pb2.ConfigProto(rpc_options=options).rpc_options == options
