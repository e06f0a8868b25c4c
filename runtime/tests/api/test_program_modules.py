"""What programs use by the full paths of TensorFlow's modules, beyond the names that `tf` has."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.contrib.rnn.python.ops import core_rnn_cell
from capstan.contrib.seq2seq.python.ops import decoder
from capstan.python import pywrap_tensorflow, tf2
from capstan.python.data.experimental.ops import batching, cardinality, readers
from capstan.python.data.ops import dataset_ops
from capstan.python.data.util import nest, structure
from capstan.python.distribute.summary_op_util import skip_summary
from capstan.python.framework import (
    constant_op,
    device_spec,
    ops,
    sparse_tensor,
    tensor_shape,
    tensor_util,
)
from capstan.python.ops import gen_audio_ops, gen_control_flow_ops, gen_math_ops, summary_op_util
from capstan.python.ops.ragged import ragged_conversion_ops, ragged_util
from capstan.python.platform import gfile
from capstan.python.saved_model import signature_def_utils
from capstan.python.training import saver


def test_the_modules_of_datasets_have_their_names() -> None:
    assert dataset_ops.DatasetV1 is tf.data.Dataset
    assert batching.map_and_batch is tf.data.experimental.map_and_batch
    assert readers.CsvDatasetV1 is tf.data.experimental.CsvDataset
    assert dataset_ops.get_legacy_output_types(tf.data.Dataset.range(3)) == tf.int64
    assert not tf2.enabled()


def test_attributes_may_follow_the_inputs_of_an_op_by_position() -> None:
    entered = gen_control_flow_ops.enter([1.0], "frame", False, 7, "named")
    assert entered.op.name == "named"
    assert entered.op.get_attr("frame_name") == b"frame"
    assert entered.op.get_attr("parallel_iterations") == 7
    product = gen_math_ops.mat_mul([[1.0, 2.0]], [[3.0, 4.0]], False, True)
    with tf.Session() as sess:
        assert sess.run(product).tolist() == [[11.0]]


def test_a_program_computes_features_of_speech_with_the_generated_functions() -> None:
    signal = np.sin(np.arange(1600, dtype=np.float32) / 9)[:, None]
    sound = gen_audio_ops.decode_wav(tf.audio.encode_wav(signal, 16000), desired_channels=1)
    spectrogram = gen_audio_ops.audio_spectrogram(sound.audio, 512, 320, magnitude_squared=True)
    features = gen_audio_ops.mfcc(spectrogram, sound.sample_rate, dct_coefficient_count=26)
    with tf.Session() as sess:
        found, rate = sess.run([features, sound.sample_rate])
    assert found.shape == (1, 4, 26)
    assert np.isfinite(found).all()
    assert rate == 16000


def test_a_list_is_a_leaf_of_an_element() -> None:
    tree = {"b": (1, [2, 3]), "a": 4}
    assert nest.flatten(tree) == [4, 1, [2, 3]]
    assert nest.pack_sequence_as(tree, [7, 8, 9]) == {"b": (8, 9), "a": 7}
    assert nest.map_structure(lambda *leaves: leaves, (1, [2]), (3, 4)) == ((1, 3), ([2], 4))
    assert nest.flatten_up_to((0, 0), (1, (2, 3))) == [1, (2, 3)]
    assert nest.map_structure_up_to((0, 0), str, ((1, 2), 3)) == ("(1, 2)", "3")
    with pytest.raises(TypeError, match="input must also be a sequence"):
        nest.flatten_up_to((0, 0), [1, 2])
    with pytest.raises(ValueError, match="same sequence length"):
        nest.flatten_up_to((0, 0), (1,))
    with pytest.raises(ValueError, match="same nested structure"):
        nest.assert_same_structure((0, 0), (0, (0, 0)))


def test_an_element_turns_into_tensors_and_back() -> None:
    element = {"dense": tf.constant([1.0]), "sparse": tf.SparseTensor([[0]], [1], [3])}
    spec = structure.type_spec_from_value(element)
    assert spec == {
        "dense": tf.TensorSpec([1], tf.float32), "sparse": tf.SparseTensorSpec([3], tf.int32)
    }  # fmt: skip
    tensors = structure.to_tensor_list(spec, element)
    assert [tensor.dtype for tensor in tensors] == structure.get_flat_tensor_types(spec)
    again = structure.from_tensor_list(spec, tensors)
    assert isinstance(again["sparse"], tf.SparseTensor)
    assert structure.are_compatible(spec, structure.type_spec_from_value(again))
    with pytest.raises(ValueError, match="not compatible with the element structure"):
        structure.to_tensor_list(spec, {"dense": 1, "sparse": element["sparse"]})
    with pytest.raises(ValueError, match="Expected 2 tensors but got 1"):
        structure.from_tensor_list(spec, tensors[:1])
    with pytest.raises(TypeError, match="Could not build a TypeSpec"):
        structure.type_spec_from_value(object())


def test_a_one_shot_iterator_reads_files(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"abcdef")
    files = tf.data.Dataset.list_files(str(tmp_path / "*"), shuffle=False)
    names = files.make_one_shot_iterator().get_next()
    records = tf.data.FixedLengthRecordDataset(str(tmp_path / "a.bin"), 3)
    record = records.make_one_shot_iterator().get_next()
    with tf.Session() as sess:
        assert sess.run([names, record]) == [str(tmp_path / "a.bin").encode(), b"abc"]


class Wrapped:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array([1.5, 2.5], dtype)


def test_an_object_that_numpy_reads_as_an_array_becomes_a_constant() -> None:
    made = tf.constant(Wrapped())
    assert made.dtype == tf.float64
    assert tf.convert_to_tensor(Wrapped(), tf.float32).dtype == tf.float32
    assert tensor_util.constant_value(made).tolist() == [1.5, 2.5]


def test_the_value_of_what_is_no_tensor() -> None:
    assert tensor_util.constant_value("text") == "text"
    array = np.ones(2)
    assert tensor_util.constant_value(array) is array
    assert tensor_util.constant_value(tf.Variable(1.0)) is None
    assert tensor_shape.unknown_shape(rank=2).as_list() == [None, None]
    assert sparse_tensor.is_sparse(tf.SparseTensorValue([[0]], [1], [1]))
    assert not sparse_tensor.is_sparse(made := tf.constant(1))
    assert ops.convert_n_to_tensor([made]) == [made]


def test_a_device_spec_is_merged_and_copied() -> None:
    spec = device_spec.DeviceSpecV1(job="ps", task=1)
    assert spec.replace(task=2).to_string() == "/job:ps/task:2"
    gpu = tf.DeviceSpec(device_type="gpu", device_index=0)
    assert spec.make_merged_spec(gpu).to_string() == "/job:ps/task:1/device:GPU:0"
    assert spec.to_string() == "/job:ps/task:1"


class WithFields:
    __attrs_attrs__ = (type("Field", (), {"name": "one"}), type("Field", (), {"name": "two"}))

    def __init__(self, one: Any, two: Any) -> None:
        self.one, self.two = one, two


def test_a_session_fetches_objects_of_the_package_attrs() -> None:
    with tf.Session() as sess:
        found = sess.run([WithFields(tf.constant(1), {"a": tf.constant(2)})])[0]
    assert isinstance(found, WithFields)
    assert (found.one, found.two) == (1, {"a": 2})
    with pytest.raises(TypeError, match=r"graph must be a tf.Graph, but got <class 'int'>"):
        tf.Session(graph=37)


def test_a_sparse_placeholder_of_constant_shape_needs_no_shape() -> None:
    holder = tf.sparse_placeholder(tf.float32, shape=[3])
    with tf.Session() as sess:
        found = sess.run(tf.sparse_tensor_to_dense(holder), {holder: ([[1]], [7.0])})
    assert found.tolist() == [0.0, 7.0, 0.0]


def test_the_functions_that_ragged_functions_are_made_of() -> None:
    rows = ragged_conversion_ops.from_tensor([[1, 2], [3, 4]])
    dense = ragged_conversion_ops.to_tensor(rows)
    repeated = ragged_util.repeat_ranges(["a", "b", "c"], [0, 2, 3], tf.constant(2))
    with tf.Session() as sess:
        assert sess.run(dense).tolist() == [[1, 2], [3, 4]]
        assert sess.run(repeated).tolist() == [b"a", b"b", b"a", b"b", b"c", b"c"]
        assert sess.run(ragged_util.lengths_to_splits([2, 0, 1])).tolist() == [0, 2, 2, 3]
        sess.run(ragged_util.assert_splits_match([[rows.row_splits]] * 2))
        assert sess.run(ragged_util.convert_to_int_tensor([1], "sizes", tf.int64)).dtype == np.int64
    assert ragged_util.get_positive_axis(-1, 3) == 2
    with pytest.raises(ValueError, match="out of bounds: expected -3<=axis<3"):
        ragged_util.get_positive_axis(3, 3)
    with pytest.raises(TypeError, match="axis must be an int"):
        ragged_util.get_positive_axis("0", 3)
    with pytest.raises(ValueError, match="may only be negative if"):
        ragged_util.get_positive_axis(-1, None)
    with pytest.raises(TypeError, match="sizes must be an integer tensor"):
        ragged_util.convert_to_int_tensor([1.0], "sizes")
    with pytest.raises(ValueError, match="identical ragged splits"):
        ragged_util.assert_splits_match([[[0]], []])


def test_signatures_of_training_and_of_operations() -> None:
    x, loss = tf.placeholder(tf.float32, name="x"), tf.constant(1.0, name="loss")
    made = signature_def_utils.supervised_train_signature_def({"x": x}, {"loss": loss})
    assert made.method_name == "tensorflow/supervised/training"
    assert made.outputs["loss"].name == "loss:0"
    made = signature_def_utils.supervised_eval_signature_def({"x": x}, None, {"p": loss})
    assert made.method_name == "tensorflow/supervised/eval"
    with pytest.raises(ValueError, match="inputs cannot be None or empty"):
        signature_def_utils.supervised_train_signature_def({}, {"loss": loss})
    signature = signature_def_utils.op_signature_def(loss.op, "train")
    assert signature_def_utils.load_op_from_signature_def(signature, "train") is loss.op
    with tf.Graph().as_default(), pytest.raises(tf.errors.NotFoundError, match="The train could"):
        signature_def_utils.load_op_from_signature_def(signature, "train")


def test_a_fused_normalization_has_the_name_that_the_program_gives() -> None:
    ones = tf.ones([2])
    normal, _, _ = tf.nn.fused_batch_norm(tf.ones([1, 1, 1, 2]), ones, ones, name="normal")
    assert normal.op.name == "normal"


def test_the_slices_of_a_sparse_tensor_are_three_tensors_each() -> None:
    source = tf.SparseTensor([[0, 1], [2, 0]], [7, 8], [3, 2])
    dataset = tf.data.Dataset.from_sparse_tensor_slices(source)
    indices, values, shape = dataset.make_one_shot_iterator().get_next()
    assert [part.shape.as_list() for part in (indices, values, shape)] == [[None, 1], [None], [1]]
    with tf.Session() as sess:
        found = [[part.tolist() for part in sess.run([indices, values, shape])] for _ in range(3)]
    assert found == [[[[1]], [7], [2]], [[], [], [2]], [[[0]], [8], [2]]]
    with pytest.raises(TypeError, match="`sparse_tensor` must be"):
        tf.data.Dataset.from_sparse_tensor_slices([1])


def test_a_sparse_tensor_knows_its_consumers() -> None:
    source = tf.SparseTensor([[0]], [1], [3])
    dense = tf.sparse_tensor_to_dense(source)
    assert source.consumers() == [dense.op]


def test_a_summary_of_a_program_has_the_tag_and_the_collection_of_its_scope() -> None:
    with tf.name_scope("outer"):
        tensor = tf.constant(b"summary")
        with summary_op_util.summary_scope("/a b", "own", values=[tensor]) as (tag, scope):
            summary = tf.identity(tensor, name=scope)
        summary_op_util.collect(summary, None, [tf.GraphKeys.SUMMARIES])
    assert (tag, summary.op.name) == ("own/outer/own/a_b", "outer/own/a_b")
    assert tf.get_collection(tf.GraphKeys.SUMMARIES) == [summary]


def test_only_the_first_replica_has_summaries() -> None:
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    skipped: list[bool] = []
    strategy.experimental_run_v2(lambda: skipped.append(skip_summary()))
    assert (skip_summary(), skipped) == (False, [False, True])


def test_a_program_writes_an_event_file_without_a_thread(tmp_path: Path) -> None:
    writer = pywrap_tensorflow.EventsWriter(bytes(tmp_path / "events"))
    event = tf.Event(step=3, summary=tf.Summary(value=[tf.Summary.Value(tag="a", simple_value=2)]))
    writer.WriteEvent(event)
    writer.Flush()
    first = writer.FileName()
    assert first.startswith(f"{tmp_path}/events.out.tfevents.")
    assert [each.file_version for each in tf.train.summary_iterator(first)] == ["brain.Event:2", ""]
    assert list(tf.train.summary_iterator(first))[1] == event
    writer.InitWithSuffix(".own")
    assert writer.FileName().endswith(".own")
    writer.Close()
    writer.Close()
    with pytest.raises(TypeError, match=r"Expected an event_pb2\.Event"):
        writer.WriteEvent(tf.Summary())


def test_the_private_names_that_programs_use() -> None:
    x = tf.ones([2, 3])
    product = core_rnn_cell._Linear([x, x], 4, True)([x, x])
    assert product.shape.as_list() == [2, 4]
    assert decoder._transpose_batch_time(product).shape.as_list() == [4, 2]
    assert constant_op.is_constant(x)
    assert not constant_op.is_constant(product.op)
    assert saver._get_saver_or_default() is saver._get_saver_or_default()
    assert gfile.OpenFast is tf.gfile.FastGFile


def test_a_program_compares_the_cardinality_of_a_dataset() -> None:
    endless = tf.data.Dataset.range(3).repeat()
    filtered = tf.data.Dataset.range(3).filter(lambda n: n > 1)
    with tf.Session() as session:
        assert session.run(cardinality.cardinality(endless)) == cardinality.INFINITE
        assert session.run(cardinality.cardinality(filtered)) == cardinality.UNKNOWN


def test_a_function_with_the_name_of_an_op_takes_its_own_arguments() -> None:
    from capstan.python.ops import array_ops, gen_array_ops, logging_ops, random_ops

    assert logging_ops.print_v2 is tf.print
    assert logging_ops.scalar_summary is tf.contrib.deprecated.scalar_summary
    padded = array_ops.pad_v2([[1]], [[0, 0], [1, 1]], constant_values=7)
    rows = array_ops.gather_v2([[1, 2], [3, 4]], [[1], [0]], axis=1, batch_dims=1)
    counts = random_ops.random_poisson_v2([3], 2.0)
    # A generated function takes the inputs of the op.
    raw = gen_array_ops.pad_v2([[1]], [[0, 0], [1, 1]], 8)
    with tf.Session() as session:
        found = session.run([padded, rows, raw])
    assert [each.tolist() for each in found] == [[[7, 1, 7]], [[2], [3]], [[8, 1, 8]]]
    assert (counts.dtype, counts.shape.as_list()) == (tf.float32, [3])
