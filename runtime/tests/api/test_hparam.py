"""`tf.contrib.training.HParams`: changes by mappings and JSON, and what they refuse."""

import pytest

import capstan as tf

HParams = tf.contrib.training.HParams


def test_a_mapping_and_a_json_object_change_hyperparameters() -> None:
    params = HParams(rate=0.5, sizes=[1, 2], name="a")
    assert params.set_from_map({"rate": 1, "sizes": [3]}) is params
    assert params.parse_json('{"name": "b"}').values() == {"name": "b", "rate": 1.0, "sizes": [3]}
    with pytest.raises(KeyError):
        params.parse_json('{"unknown": 1}')
    with pytest.raises(ValueError, match="Must pass a list"):
        params.set_from_map({"sizes": 3})


def test_a_deleted_hyperparameter_is_unknown_and_may_be_added_again() -> None:
    params = HParams(rate=0.5)
    params.del_hparam("rate")
    params.del_hparam("rate")
    assert "rate" not in params
    assert params.values() == {}
    params.add_hparam("rate", "fast")
    assert params.rate == "fast"
