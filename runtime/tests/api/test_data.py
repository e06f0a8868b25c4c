"""`tf.data`: iterators, the errors of pipelines, and the work of their threads."""

import collections
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import clusters
import numpy as np
import pytest
from elements import drained

import capstan as tf
from capstan.framework.raw import raw
from capstan.hardware import processors

Dataset = tf.data.Dataset


def test_an_iterator_moves_one_element_in_each_step() -> None:
    first = Dataset.range(5).make_one_shot_iterator().get_next()
    with tf.Session() as session:
        assert session.run([first, first, first + 10]) == [0, 0, 10]
        assert session.run(first) == 1


def test_two_calls_of_get_next_take_two_elements() -> None:
    iterator = Dataset.range(5).make_one_shot_iterator()
    pair = [iterator.get_next(), iterator.get_next()]
    with tf.Session() as session:
        assert sorted(session.run(pair)) == [0, 1]


def test_an_iterator_without_a_dataset_says_that_it_needs_its_initializer() -> None:
    element = Dataset.range(3).make_initializable_iterator().get_next()
    with (
        tf.Session() as session,
        pytest.raises(
            tf.errors.FailedPreconditionError,
            match="GetNext\\(\\) failed because the iterator has not been initialized",
        ),
    ):
        session.run(element)


def test_an_initializer_reads_placeholders() -> None:
    count = tf.placeholder(tf.int64, [])
    iterator = Dataset.range(count).make_initializable_iterator()
    element = iterator.get_next()
    with tf.Session() as session:
        for size in (2, 4):
            session.run(iterator.initializer, {count: size})
            assert drained(session, element) == list(range(size))


def test_a_one_shot_iterator_refuses_placeholders_and_variables() -> None:
    fed = Dataset.from_tensor_slices(tf.placeholder(tf.int32, [3], name="p"))
    with pytest.raises(ValueError, match=r"a placeholder \(name:p, type:Placeholder\) by value"):
        fed.make_one_shot_iterator()
    variable = tf.get_variable("v", [3])
    with pytest.raises(ValueError, match=r"use `Dataset.make_initializable_iterator"):
        Dataset.range(3).map(lambda x: variable).make_one_shot_iterator()
    with pytest.raises(ValueError, match="Iterator does not have an initializer"):
        _ = Dataset.range(3).make_one_shot_iterator().initializer


def test_an_iterator_takes_datasets_of_one_structure() -> None:
    small = Dataset.range(3)
    large = Dataset.range(100, 104).map(lambda x: x + 1)
    iterator = tf.data.Iterator.from_structure(small.output_types, small.output_shapes)
    element = iterator.get_next()
    begin_small, begin_large = map(iterator.make_initializer, (small, large))
    with tf.Session() as session:
        for begin, expected in ((begin_small, [0, 1, 2]), (begin_large, [101, 102, 103, 104])):
            session.run(begin)
            assert drained(session, element) == expected
    with pytest.raises(TypeError, match="Expected output types"):
        iterator.make_initializer(Dataset.from_tensors(1.0))


def test_a_string_handle_chooses_the_iterator_of_a_step() -> None:
    training = Dataset.range(3).repeat().make_one_shot_iterator()
    validation = Dataset.range(10, 12).make_initializable_iterator()
    handle = tf.placeholder(tf.string, [])
    element = tf.data.Iterator.from_string_handle(handle, training.output_types, []).get_next()
    with tf.Session() as session:
        train, check = session.run([training.string_handle(), validation.string_handle()])
        assert [session.run(element, {handle: train}) for _ in range(2)] == [0, 1]
        session.run(validation.initializer)
        assert drained(session, element, {handle: check}) == [10, 11]
        assert session.run(element, {handle: train}) == 2
        with pytest.raises(tf.errors.InvalidArgumentError, match="string handle"):
            session.run(element, {handle: b"no handle"})


@pytest.mark.e2e
def test_an_iterator_of_another_task_gives_its_elements() -> None:
    servers = clusters.start(worker=2)
    with tf.device("/job:worker/task:1"):
        iterator = Dataset.range(3).map(lambda x: x * 2).make_initializable_iterator()
        handle = tf.placeholder(tf.string, [])
        fed = tf.data.Iterator.from_string_handle(handle, tf.int64, [])
    with tf.device("/job:worker/task:0"):
        element, other = iterator.get_next() + 1, fed.get_next() + 2
    with tf.Session(servers["worker:0"].target) as session:
        session.run(iterator.initializer)
        assert session.run(element) == 1
        text = session.run(iterator.string_handle())
        assert session.run(other, {handle: text}) == 4
        assert drained(session, element) == [5]


def test_a_function_with_an_operation_on_another_task_is_refused() -> None:
    servers = clusters.start(worker=2)

    def elsewhere(x: Any) -> Any:
        with tf.device("/job:worker/task:1"):
            return x + 1

    with tf.device("/job:worker/task:0"):
        iterator = Dataset.range(5).map(elsewhere).make_initializable_iterator()
    with (
        tf.Session(servers["worker:0"].target) as session,
        pytest.raises(tf.errors.InvalidArgumentError, match="Place the dataset on the task"),
    ):
        session.run(iterator.initializer)


def test_the_seed_of_a_shuffle_may_be_a_tensor() -> None:
    orders = []
    for seed, graph_seed in ((3, 5), (0, 5), (0, 0)):
        tf.set_random_seed(graph_seed)
        fed = tf.placeholder_with_default(np.int64(seed), [])
        for given in (seed, fed):
            shuffled = Dataset.range(20).shuffle(20, given).make_initializable_iterator()
            element = shuffled.get_next()
            with tf.Session() as session:
                session.run(shuffled.initializer)
                orders.append([session.run(element) for _ in range(20)])
    assert orders[::2] == orders[1::2]


def test_a_namedtuple_is_one_argument_of_a_map_function() -> None:
    kind = collections.namedtuple("Pair", "a b")
    pairs = tf.data.Dataset.from_tensor_slices(kind([1, 2], [10, 20]))
    element = pairs.map(lambda pair: pair.a + pair.b).make_one_shot_iterator().get_next()
    with tf.Session() as session:
        assert [session.run(element) for _ in range(2)] == [11, 22]


def test_a_map_function_reads_a_variable_in_each_call() -> None:
    offset = tf.get_variable("offset", initializer=np.int64(1), use_resource=True)
    iterator = Dataset.range(5).map(lambda x: x + offset).make_initializable_iterator()
    element, change = iterator.get_next(), offset.assign(100)
    with tf.Session() as session:
        session.run(offset.initializer)
        session.run(iterator.initializer)
        assert session.run(element) == 1
        session.run(change)
        assert session.run(element) == 101


@pytest.mark.e2e
def test_an_error_in_a_function_names_its_operation_and_the_next_element_follows() -> None:
    def checked(x: Any) -> Any:
        with tf.control_dependencies([tf.Assert(tf.not_equal(x, 1), ["too small"], name="check")]):
            return x * 2

    dataset = Dataset.range(4).map(checked)
    element = dataset.make_one_shot_iterator().get_next()
    ignoring = dataset.apply(tf.data.experimental.ignore_errors())
    without = ignoring.make_one_shot_iterator().get_next()
    with tf.Session() as session:
        assert session.run(element) == 0
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"too small(.|\n)*node check"):
            session.run(element)
        assert drained(session, element) == [4, 6]
        assert drained(session, without) == [0, 4, 6]


def group(dataset: Any) -> Any:
    return dataset.apply(
        tf.data.experimental.group_by_window(lambda x: x % 2, lambda _, rows: rows.batch(2), 2)
    )


@pytest.mark.parametrize(
    "transformed, expected",
    [
        (lambda dataset: dataset.take(3), [0, 2, 3]),
        (lambda dataset: dataset.shard(2, 1), [2, 4]),
        (lambda dataset: dataset.flat_map(lambda x: Dataset.range(x, x + 1)), [0, 2, 3, 4, 5]),
        (
            lambda dataset: dataset.window(2).flat_map(lambda rows: rows.batch(2)),
            [[2, 3], [4, 5]],
        ),
        (
            lambda dataset: dataset.map(lambda x: tf.stack([x, x])).apply(
                tf.data.experimental.unbatch()
            ),
            [0, 0, 2, 2, 3, 3, 4, 4, 5, 5],
        ),
        (group, [[0, 2], [3, 5], [4]]),
    ],
)
def test_a_transformation_goes_on_after_an_error_of_its_source(
    transformed: Any, expected: Any
) -> None:
    def checked(x: Any) -> Any:
        with tf.control_dependencies([tf.Assert(tf.not_equal(x, 1), ["one"])]):
            return tf.identity(x)

    dataset = transformed(Dataset.range(6).map(checked))
    dataset = dataset.apply(tf.data.experimental.ignore_errors())
    element = dataset.make_one_shot_iterator().get_next()
    with tf.Session() as session:
        assert [np.asarray(value).tolist() for value in drained(session, element)] == expected


def test_batches_of_different_shapes_are_refused() -> None:
    dataset = Dataset.range(1, 3).map(lambda x: tf.fill([tf.cast(x, tf.int32)], x)).batch(2)
    with (
        tf.Session() as session,
        pytest.raises(
            tf.errors.InvalidArgumentError,
            match=r"different shapes in component 0. First element had shape \[1\] and element 1 "
            r"had shape \[2\]",
        ),
    ):
        session.run(dataset.make_one_shot_iterator().get_next())


def test_a_generator_begins_again_in_each_pass_and_is_dropped_at_its_end() -> None:
    ended = []

    def numbers() -> Iterator[int]:
        try:
            yield from (1, 2)
        finally:
            ended.append(True)

    iterator = Dataset.from_generator(numbers, tf.int32, []).make_initializable_iterator()
    element = iterator.get_next()
    with tf.Session() as session:
        for _ in range(2):
            session.run(iterator.initializer)
            assert drained(session, element) == [1, 2]
    assert ended == [True, True]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["text"], "could not be converted to the expected type"),
        ([[1, 2]], "yielded an element of shape"),
    ],
)
def test_a_generator_must_yield_what_it_declares(values: Any, message: str) -> None:
    dataset = Dataset.from_generator(lambda: iter(values), tf.int32, [])
    iterator = dataset.make_initializable_iterator()
    element = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            session.run(element)


@pytest.mark.e2e
def test_the_only_element_of_a_dataset_is_a_tensor() -> None:
    single = tf.data.experimental.get_single_element
    total = Dataset.range(5).reduce((np.int64(0), 0.0), lambda s, x: (s[0] + x, s[1] + 0.5))
    with tf.Session() as session:
        assert session.run(single(Dataset.range(3).skip(2))) == 2
        assert session.run(total) == (10, 2.5)
        with pytest.raises(tf.errors.InvalidArgumentError, match="Dataset was empty"):
            session.run(single(Dataset.range(0)))
        with pytest.raises(tf.errors.InvalidArgumentError, match="more than one element"):
            session.run(single(Dataset.range(2)))


@pytest.mark.e2e
def test_files_are_listed_and_read(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text(f"{name}1\n{name}2\n")
    files = Dataset.list_files(str(tmp_path / "*.txt"), shuffle=False)
    lines = files.interleave(tf.data.TextLineDataset, cycle_length=2)
    iterator = lines.make_initializable_iterator()
    element = iterator.get_next()
    nothing = Dataset.list_files(str(tmp_path / "*.csv")).make_initializable_iterator()
    with tf.Session() as session:
        session.run(iterator.initializer)
        assert drained(session, element) == [b"a1", b"b1", b"a2", b"b2"]
        with pytest.raises(tf.errors.InvalidArgumentError, match="No files matched pattern"):
            session.run(nothing.initializer)


@pytest.mark.e2e
def test_a_pipeline_without_seeds_shuffles_each_pass_differently() -> None:
    iterator = Dataset.range(100).shuffle(100).make_initializable_iterator()
    element = iterator.get_next()
    with tf.Session() as session:
        passes = []
        for _ in range(2):
            session.run(iterator.initializer)
            passes.append(drained(session, element))
    assert passes[0] != passes[1]
    assert sorted(passes[0]) == sorted(passes[1]) == list(range(100))


@pytest.mark.e2e
def test_a_restored_iterator_goes_on_at_its_place_with_the_same_shuffling() -> None:
    plan = Dataset.range(50).shuffle(50)
    iterator, other = (plan.make_initializable_iterator() for _ in range(2))
    element, following = iterator.get_next(), other.get_next()
    copy = raw.DeserializeIterator(
        other._iterator_resource, raw.SerializeIterator(iterator._iterator_resource)
    )
    with tf.Session() as session:
        session.run([iterator.initializer, other.initializer])
        before = [session.run(element) for _ in range(20)]
        session.run(copy)
        rest = drained(session, element)
        assert drained(session, following) == rest
        assert sorted(before + rest) == list(range(50))


@pytest.mark.parametrize("weights", [[1, 1], np.array([1, 2]), np.array([0.5, 0.5], np.float16)])
def test_the_weights_of_datasets_are_floats(weights: Any) -> None:
    with pytest.raises(TypeError, match="`weights` must be convertible to a tensor of"):
        tf.data.experimental.sample_from_datasets([Dataset.range(3)] * 2, weights)


def test_samples_come_from_the_datasets_with_a_weight_until_all_are_at_their_end() -> None:
    datasets = [Dataset.range(3), Dataset.range(10, 14)]
    weights = Dataset.from_tensors([0.0, 1.0]).repeat(4)
    plans = (
        tf.data.experimental.sample_from_datasets(datasets, seed=3),
        tf.data.experimental.sample_from_datasets(datasets, weights),
    )
    found = []
    with tf.Session() as session:
        for plan in plans:
            iterator = plan.make_initializable_iterator()
            session.run(iterator.initializer)
            found.append(drained(session, iterator.get_next()))
    assert [number for number in found[0] if number < 10] == [0, 1, 2]
    assert [number for number in found[0] if number >= 10] == found[1] == [10, 11, 12, 13]


def test_the_next_element_of_an_iterator_is_an_optional_without_a_value_at_the_end() -> None:
    iterator = Dataset.from_tensors((1, "a")).make_one_shot_iterator()
    optional = tf.data.experimental.get_next_as_optional(iterator)
    with tf.Session() as session:
        assert session.run([optional.has_value(), *optional.get_value()]) == [True, 1, b"a"]
        assert not session.run(optional.has_value())


@pytest.mark.e2e
@pytest.mark.parametrize("shape", [[], [1], [2], [None]])
def test_parsed_examples_with_dense_features_are_elements_that_can_be_batched(
    shape: list[int | None],
) -> None:
    count = shape[0] or 1 if shape else 1
    texts, numbers = (
        [[b"a", b"b"][:count], [b"c", b"d"][:count]],
        [[1.5, 2.0][:count], [3.0, 4.0][:count]],
    )

    def example(words: list[bytes], floats: list[float]) -> bytes:
        feature = {
            "text": tf.train.Feature(bytes_list=tf.train.BytesList(value=words)),
            "number": tf.train.Feature(float_list=tf.train.FloatList(value=floats)),
        }
        return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()

    kind = tf.FixedLenSequenceFeature if shape == [None] else tf.FixedLenFeature
    more = {"allow_missing": True} if shape == [None] else {}
    features = {
        "text": kind([] if more else shape, tf.string, **more),
        "number": kind([] if more else shape, tf.float32, **more),
    }
    parsed = Dataset.from_tensor_slices(list(map(example, texts, numbers))).map(
        lambda record: tf.parse_single_example(record, features)
    )
    with tf.Session() as session:
        alone = session.run(parsed.make_one_shot_iterator().get_next())
        batch = session.run(parsed.batch(2).make_one_shot_iterator().get_next())
    for name, expected in (("text", texts), ("number", numbers)):
        wanted = np.array(expected, batch[name].dtype).reshape(2, *([count] if shape else []))
        np.testing.assert_array_equal(batch[name], wanted)
        np.testing.assert_array_equal(alone[name], wanted[0])


@pytest.mark.e2e
def test_parsed_examples_with_sparse_features_are_elements() -> None:
    def example(count: int) -> bytes:
        values = tf.train.Int64List(value=range(count))
        feature = {"numbers": tf.train.Feature(int64_list=values)}
        return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()

    features = {"numbers": tf.VarLenFeature(tf.int64)}
    parsed = Dataset.from_tensor_slices([example(count) for count in (0, 2, 1)]).map(
        lambda record: tf.parse_single_example(record, features)
    )
    iterator = tf.data.Iterator.from_structure(
        parsed.output_types, parsed.output_shapes, output_classes=parsed.output_classes
    )
    element, begin = iterator.get_next(), iterator.make_initializer(parsed)
    with tf.Session() as session:
        session.run(begin)
        found = [value["numbers"].values.tolist() for value in drained(session, element)]
    assert found == [[], [0, 1], [0]]
    with pytest.raises(TypeError, match="padded sparse tensors"):
        parsed.padded_batch(2)


@pytest.mark.e2e
@pytest.mark.parametrize("initial", [[0.9, 0.1], None], ids=["known", "estimated"])
def test_resampled_elements_have_the_wanted_classes(initial: Any) -> None:
    numbers = Dataset.range(200).repeat().shuffle(200, seed=1)
    resampled = numbers.apply(
        tf.data.experimental.rejection_resample(
            lambda x: tf.cast(x >= 180, tf.int32), [0.5, 0.5], initial, seed=2
        )
    )
    pair = resampled.batch(1000).make_one_shot_iterator().get_next()
    with tf.Session() as session:
        classes, values = session.run(pair)
    assert (classes == (values >= 180)).all()
    assert 0.4 < classes.mean() < 0.6


def test_a_loop_in_a_map_function_computes_with_tensors_of_known_shapes() -> None:
    def summed(x: Any) -> Any:
        return tf.while_loop(
            lambda i, _: i < x,
            lambda i, total: (i + 1, total + tf.reduce_sum(tf.cast(tf.fill([3], i), tf.int32))),
            [tf.constant(0, tf.int64), 0],
        )[1]

    element = Dataset.range(4).map(summed).make_one_shot_iterator().get_next()
    with tf.Session() as session:
        assert drained(session, element) == [0, 0, 3, 9]


def test_a_component_may_be_a_tensor_array() -> None:
    def written(x: Any) -> dict[str, Any]:
        array = tf.TensorArray(tf.int64, 2, element_shape=[])
        return {"array": array.write(0, x).write(1, x * x), "x": x}

    source = Dataset.range(3).map(written)
    assert source.element_spec["array"] == tf.TensorArraySpec([], tf.int64)
    total = source.map(lambda element: element["array"].stack() + element["x"])
    element = total.make_one_shot_iterator().get_next()
    direct = source.make_one_shot_iterator().get_next()["array"].read(1)
    with tf.Session() as session:
        np.testing.assert_array_equal(drained(session, element), [[0, 0], [2, 2], [4, 6]])
        assert drained(session, direct) == [0, 1, 4]
    with pytest.raises(TypeError, match="Stack it first"):
        source.batch(2)
    with pytest.raises(TypeError, match="has no slices"):
        source.apply(tf.data.experimental.unbatch())


def test_a_concatenation_of_arrays_has_the_sizes_that_both_share() -> None:
    one, other = (
        Dataset.from_tensors(tf.TensorArray(tf.int64, 1, element_shape=[size, 2]))
        for size in (3, 4)
    )
    assert one.concatenate(other).element_spec == tf.TensorArraySpec([None, 2], tf.int64)


def test_two_types_of_arrays_have_a_common_type_unless_one_may_grow() -> None:
    inferring, plain = tf.TensorArraySpec([2]), tf.TensorArraySpec(None, infer_shape=False)
    assert inferring.most_specific_compatible_type(plain) == plain
    assert plain.most_specific_compatible_type(inferring) == plain
    for other in (tf.TensorArraySpec([3]), tf.TensorArraySpec([2], dynamic_size=True)):
        with pytest.raises(ValueError, match="Types are not compatible"):
            inferring.most_specific_compatible_type(other)
    with pytest.raises(TypeError, match="Expected value to be a TensorArray"):
        tf.TensorArraySpec.from_value(tf.constant(1))


def test_an_array_outside_of_the_dataset_may_be_an_element() -> None:
    array = tf.TensorArray(tf.float32, 2).write(0, [1.0, 2.0]).write(1, [3.0, 4.0])
    element = Dataset.from_tensors(array).map(lambda given: given.read(1))
    iterator = element.make_initializable_iterator()
    value = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer)
        np.testing.assert_array_equal(session.run(value), [3, 4])


@pytest.mark.parametrize("calls", [None, tf.data.experimental.AUTOTUNE])
def test_an_interleave_opens_a_dataset_for_each_processor_by_default(
    calls: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def twice(x: Any) -> Any:
        return Dataset.from_tensors(x).repeat(2)

    monkeypatch.setattr(processors, "schedulable", lambda: 2)
    source = Dataset.range(3).interleave(twice, num_parallel_calls=calls)
    element = source.make_one_shot_iterator().get_next()
    with tf.Session() as session:
        assert drained(session, element) == [0, 1, 0, 1, 2, 2]


@pytest.mark.parametrize(
    ("calls", "message"),
    [(0, "must be greater than zero"), (3, "must less than or equal to cycle_length")],
)
def test_an_interleave_refuses_a_number_of_calls(calls: int, message: str) -> None:
    source = Dataset.range(3).interleave(Dataset.from_tensors, 2, num_parallel_calls=calls)
    iterator = source.make_initializable_iterator()
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=message):
        session.run(iterator.initializer)


def test_a_loop_of_python_over_a_dataset_is_refused_with_what_to_do() -> None:
    with pytest.raises(RuntimeError, match=r"make_one_shot_iterator\(\)\.get_next\(\)"):
        iter(tf.data.Dataset.range(3))
