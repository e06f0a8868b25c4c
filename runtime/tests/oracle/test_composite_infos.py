"""TensorInfos of RaggedTensors and IndexedSlices are TensorFlow's."""

import pathlib
from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

VALUES = {
    "one ragged axis": lambda v1: v1.ragged.placeholder(v1.int32, 1, []),
    "two ragged axes": lambda v1: v1.ragged.placeholder(v1.string, 2, [3]),
    "known rows": lambda v1: v1.RaggedTensor.from_row_splits(
        v1.constant([1.0, 2.0]), v1.constant([0, 2], v1.int32)
    ),
    "slices": lambda v1: v1.IndexedSlices(v1.constant([[1.0]]), v1.constant([0])),
    "slices of a known tensor": lambda v1: v1.IndexedSlices(
        v1.constant([[1.0]]), v1.constant([0], v1.int64), v1.constant([3, 1])
    ),
}


def without_counts(info: Any) -> Any:
    """Return a TensorInfo without the field that TensorFlow 1.15 does not have."""
    info.composite_tensor.type_spec.ClearField("num_flat_components")
    return info


@pytest.mark.parametrize("name", VALUES)
def test_the_infos_of_several_tensors_are_tensorflows(v1: Any, name: str) -> None:
    with v1.Graph().as_default():
        theirs = without_counts(v1.saved_model.utils.build_tensor_info(VALUES[name](v1)))
    with capstan.Graph().as_default():
        value = VALUES[name](capstan)
        ours = capstan.saved_model.utils.build_tensor_info(value)
        again = capstan.saved_model.utils.get_tensor_from_tensor_info(ours)
        assert type(again) is type(value)
        assert capstan.saved_model.utils.build_tensor_info(again) == ours
    names = {each.name for each in ours.composite_tensor.components}
    assert len(names) == len(ours.composite_tensor.components)
    for info in (ours, theirs):
        for component in info.composite_tensor.components:
            component.ClearField("name")
    assert ours.SerializeToString() == theirs.SerializeToString()


def test_tensorflow_runs_a_signature_with_a_ragged_input(v1: Any, tmp_path: pathlib.Path) -> None:
    folder = str(tmp_path / "model")
    with capstan.Graph().as_default(), capstan.Session() as session:
        words = capstan.ragged.placeholder(capstan.int32, 1, [])
        lengths = capstan.identity(words.row_lengths())
        capstan.saved_model.simple_save(session, folder, {"words": words}, {"lengths": lengths})
    for api in (v1, capstan):
        with api.Graph().as_default(), api.Session() as session:
            loaded = api.saved_model.load(session, ["serve"], folder)
            signature = loaded.signature_def["serving_default"]
            find = api.saved_model.utils.get_tensor_from_tensor_info
            given = find(signature.inputs["words"])
            assert isinstance(given, api.RaggedTensor)
            feeds = {given.flat_values: [1, 2, 3], given.row_splits: [0, 2, 3]}
            found = session.run(find(signature.outputs["lengths"]), feeds)
            np.testing.assert_array_equal(found, [2, 1])


def test_an_info_of_another_kind_is_refused(tmp_path: pathlib.Path) -> None:
    info = capstan.saved_model.utils.build_tensor_info(VALUES["one ragged axis"](capstan))
    info.composite_tensor.type_spec.type_spec_class = 5
    with pytest.raises(ValueError, match="is not known"):
        capstan.saved_model.utils.get_tensor_from_tensor_info(info)
    builder = capstan.saved_model.Builder(str(tmp_path / "model"))
    info.composite_tensor.components[0].dtype = 0
    signature = capstan.saved_model.build_signature_def({"in": info}, {}, "method")
    with capstan.Session() as session, pytest.raises(AssertionError, match="name and a dtype"):
        builder.add_meta_graph_and_variables(session, ["serve"], {"key": signature})
