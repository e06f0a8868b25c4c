"""The settings of a session, as a value and as a ConfigProto."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.compat.proto import config_pb2

from capstan.core import config

settings = st.builds(
    config.SessionConfig,
    allow_soft_placement=st.booleans(),
    log_device_placement=st.booleans(),
    device_filters=st.lists(st.sampled_from(["/job:ps", "/job:w/task:1"])).map(tuple),
    operation_timeout_ms=st.integers(0, 10**9),
    inter_op_parallelism_threads=st.integers(-1, 64),
    intra_op_parallelism_threads=st.integers(0, 64),
    isolate_session_state=st.booleans(),
    inter_op_thread_pools=st.lists(st.integers(0, 8), max_size=3).map(tuple),
    use_per_session_threads=st.booleans(),
    device_count=st.dictionaries(st.sampled_from(["CPU", "GPU"]), st.integers(0, 8)),
)


@pytest.mark.e2e
@given(settings)
def test_settings_survive_encoding_as_config_proto(given_: config.SessionConfig) -> None:
    wire = given_.to_proto().SerializeToString()
    assert config.SessionConfig.from_proto(config_pb2.ConfigProto.FromString(wire)) == given_


def test_a_missing_or_empty_proto_is_the_defaults() -> None:
    assert config.SessionConfig.from_proto(None) == config.SessionConfig()
    assert config.SessionConfig.from_proto(config_pb2.ConfigProto()) == config.SessionConfig()
    assert config_pb2.ConfigProto() == config.SessionConfig().to_proto()


@pytest.mark.parametrize(
    ("usual", "pools", "threads"),
    [(0, (), 0), (3, (), 3), (3, (1,), 1), (3, (1, 2), 3), (3, (1, 0), 4), (0, (1, 0), 0)],
)
def test_the_pools_of_a_session_share_their_threads(
    usual: int, pools: tuple[int, ...], threads: int
) -> None:
    given = config.SessionConfig(inter_op_parallelism_threads=usual, inter_op_thread_pools=pools)
    assert given.inter_op_threads == threads


def test_settings_are_hashable() -> None:
    assert len({config.SessionConfig(), config.SessionConfig()}) == 1


def test_the_error_for_a_negative_timeout_names_the_field() -> None:
    with pytest.raises(
        ValueError, match=r"operation_timeout_in_ms must not be negative, but is -5"
    ):
        config.SessionConfig.from_proto(config_pb2.ConfigProto(operation_timeout_in_ms=-5))
