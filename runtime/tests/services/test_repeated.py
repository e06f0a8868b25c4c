"""A repeated step that takes several elements at once adds the results of single steps."""

import pathlib
import threading
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import background
import numpy as np
import pytest

import capstan as tf
from capstan.services import cores, repeated
from capstan.transport import cancellation

COUNT = 20
PATIENCE_S = 60.0
Components = Sequence[Any]


def of_index(compute: Callable[[Any], Components]) -> Callable[[pathlib.Path], Components]:
    """Return a pipeline that computes with the numbers of a queue."""

    def build(folder: pathlib.Path) -> Components:
        queue = tf.FIFOQueue(COUNT, [tf.int32], [[]], name="source")
        tf.get_default_graph().add_to_collection("fill", queue.enqueue_many([tf.range(COUNT)]))
        return compute(queue.dequeue())

    return build


def of_example(
    features: dict[str, Any], compute: Callable[[Any], Components]
) -> Callable[[pathlib.Path], Components]:
    """Return a pipeline that computes with the features of the Examples of a file."""

    def build(folder: pathlib.Path) -> Components:
        with tf.python_io.TFRecordWriter(str(folder / "examples")) as writer:
            for number in range(COUNT):
                writer.write(example(number).SerializeToString())
        names = tf.FIFOQueue(1, [tf.string], [[]])
        fill = names.enqueue(str(folder / "examples"))
        tf.get_default_graph().add_to_collection("fill", fill)
        _, serialized = tf.TFRecordReader().read(names)
        return compute(tf.parse_single_example(serialized, features))

    return build


def example(number: int) -> Any:
    feature = {
        "image": tf.train.Feature(
            bytes_list=tf.train.BytesList(value=[bytes(range(number, number + 6))])
        ),
        "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[number % 3])),
    }
    if number % 2:
        feature["size"] = tf.train.Feature(float_list=tf.train.FloatList(value=[number, 0.5]))
    return tf.train.Example(features=tf.train.Features(feature=feature))


FEATURES = {
    "image": tf.FixedLenFeature([], tf.string),
    "label": tf.FixedLenFeature([], tf.int64),
    "size": tf.FixedLenFeature([2], tf.float32, [-1.0, -2.0]),
}


def image(features: Any) -> Any:
    pixels = tf.cast(tf.decode_raw(features["image"], tf.uint8), tf.float32) * (1.0 / 255) - 0.5
    return tf.transpose(tf.reshape(pixels, [2, 3]), [1, 0])


def standardised(features: Any) -> Components:
    pixels = image(features)
    mean, variance = tf.nn.moments(pixels, [0, 1])
    return [(pixels - mean) / tf.sqrt(variance), tf.one_hot(features["label"], 3)]


def sliced(index: Any) -> Components:
    row = tf.gather(np.arange(COUNT * 6).reshape(COUNT, 6), index)
    return [
        row[1:4],
        tf.slice(row, [0], [2]),
        row[-1],
        tf.concat([row, [7]], 0),
        tf.stack(tf.split(row, 2)),
        tf.squeeze(tf.expand_dims(row, 0), [0]),
    ]


def looked_up(index: Any) -> Components:
    table = tf.contrib.lookup.index_table_from_tensor([str(n) for n in range(0, COUNT, 2)])
    text = tf.as_string(index)
    name = tf.string_join([text, "x"])
    return [table.lookup(text), tf.string_to_hash_bucket_fast(name, 7), tf.substr(name, 0, 1)]


def of_variables(index: Any) -> Components:
    values = np.arange(COUNT * 2.0).reshape(COUNT, 2)
    ref = tf.get_variable("ref", initializer=values, use_resource=False)
    handle = tf.get_variable("handle", initializer=values, use_resource=True)
    return [tf.gather(ref, index), tf.gather(handle, index), tf.shape(ref)[0]]


def changed(features: Any) -> Components:
    pixels = tf.expand_dims(image(features), 2)
    label = features["label"]
    begin = tf.cast(tf.stack([label % 2, 0, 0]), tf.int32)
    with tf.control_dependencies([tf.Assert(tf.reduce_all(tf.shape(pixels) >= 1), [label])]):
        turned = tf.cond(label < 2, lambda: pixels[::-1], lambda: pixels + 100.0)
    return [
        turned,
        tf.slice(pixels, begin, [2, 2, 1]),
        tf.image.adjust_contrast(pixels, tf.cast(label, tf.float32)),
        tf.image.resize_images(pixels, [4, 4]),
    ]


def divided(index: Any) -> Components:
    """Divide by zero in the side that is not taken."""
    return [tf.cond(index % 5 > 0, lambda: 100 // (index % 5), lambda: -index)]


PIPELINES = {
    "slices of constants": of_index(
        lambda index: [tf.gather(list("abcdefghijklmnopqrst"), index), index * 2]
    ),
    "slices of rows": of_index(sliced),
    "rows of variables": of_index(of_variables),
    "words in a table": of_index(looked_up),
    "a tensor of all ranks": of_index(
        lambda index: [tf.add([index], [[1], [2]]), tf.stack([index] * 2) * index]
    ),
    "a division": of_index(lambda index: [100 // (index + 1), 7 % (index + 1)]),
    "sides that fail": of_index(divided),
    "changed images": of_example(FEATURES, changed),
    "images": of_example(FEATURES, lambda features: [image(features), features["label"]]),
    "standardised images": of_example(FEATURES, standardised),
    "features with defaults": of_example(FEATURES, lambda features: [features["size"] * 2.0]),
}


def results(folder: pathlib.Path, pipeline: Any, repeat: Any) -> list[Any]:
    """Return the components of all results, which `repeat` adds to a queue."""
    folder.mkdir()
    with tf.Graph().as_default() as graph:
        components = [tf.convert_to_tensor(value) for value in pipeline(folder)]
        kinds, shapes = zip(*[(value.dtype, value.shape) for value in components], strict=True)
        queue = tf.FIFOQueue(4 * COUNT, kinds, shapes)
        target, values = queue.enqueue(components), queue.dequeue_many(COUNT)
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), tf.tables_initializer()])
            session.run(graph.get_collection("fill"))
            repeat(session, target, queue)
            return list(
                np.atleast_1d(session.run(values)) if len(kinds) == 1 else session.run(values)
            )


@pytest.mark.parametrize("kind", PIPELINES)
def test_several_elements_give_the_results_of_single_steps(
    kind: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[bool] = []
    run = repeated.Repeated.run

    def counted(*arguments: Any) -> bool:
        steps.append(run(*arguments))
        return steps[-1]

    def alone(session: Any, target: Any, _: Any) -> None:
        for _ in range(COUNT):
            session.run(target)

    def together(session: Any, target: Any, queue: Any) -> None:
        size = queue.size()
        while session.run(size) < COUNT:
            session.run_until(cancellation.Cancellation(), target)

    expected = results(tmp_path / "alone", PIPELINES[kind], alone)
    monkeypatch.setattr(repeated.Repeated, "run", counted)
    found = results(tmp_path / "together", PIPELINES[kind], together)
    if kind == "sides that fail":
        assert not any(steps)  # The first step fails, and the original steps then do its work.
    else:
        assert steps == [True]
    for column, right in zip(found, expected, strict=True):
        if column.dtype.kind == "f":
            np.testing.assert_allclose(column, right, rtol=1e-6, atol=1e-7)
        else:
            np.testing.assert_array_equal(column, right)


def closing(queue: Any, values: Any) -> None:
    """Let the session fill and close a queue first."""
    filled = queue.enqueue_many([values])
    with tf.control_dependencies([filled]):
        tf.get_default_graph().add_to_collection("fill", queue.close())


def of_closed(compute: Callable[[Any], Components]) -> Callable[[pathlib.Path], Components]:
    """Return a pipeline that computes with the numbers of a queue, which ends."""

    def build(folder: pathlib.Path) -> Components:
        queue = tf.FIFOQueue(COUNT, [tf.int32], [[]], name="source")
        closing(queue, tf.range(COUNT))
        return compute(queue.dequeue())

    return build


def of_files(*names: str) -> Callable[[pathlib.Path], Components]:
    """Return a pipeline that reads files, of which some are missing or damaged."""

    def build(folder: pathlib.Path) -> Components:
        whole, cut = folder / "whole", folder / "cut"
        with tf.python_io.TFRecordWriter(str(whole)) as writer:
            for number in range(COUNT):
                writer.write(b"%d" % number)
        cut.write_bytes(whole.read_bytes()[:-3])
        queue = tf.FIFOQueue(4, [tf.string], [[]])
        closing(queue, [str(folder / name) for name in names])
        return [tf.TFRecordReader().read(queue).value]

    return build


def after_the_element(index: Any) -> Components:
    """Wait for the element by a control dependency, and fail."""
    with tf.control_dependencies([index]):
        one = tf.constant(1)
    return [100 // (index - 5) + one]


def uninitialised(index: Any) -> Any:
    variable = tf.get_variable("unset", initializer=[1], collections=[], use_resource=True)
    return tf.gather(variable, index * 0)


def of_two_lengths(index: Any) -> Components:
    """Give each side of a conditional a length that only the step knows."""
    short, long = (
        tf.decode_raw(tf.gather([text] * COUNT, index), tf.uint8) for text in ("a", "abc")
    )
    return [tf.reduce_sum(tf.cast(tf.cond(index % 2 > 0, lambda: short, lambda: long), tf.int32))]


ENDS = {
    "an element that fails": of_closed(lambda index: [100 // (index - 5)]),
    "a control dependency on the element": of_closed(after_the_element),
    "a variable without a value": of_closed(lambda index: [uninitialised(index)]),
    "a variable without a value on one side": of_closed(
        lambda index: [tf.cond(index < COUNT, lambda: index, lambda: uninitialised(index))]
    ),
    "sides of different lengths": of_closed(of_two_lengths),
    "a missing file": of_files("whole", "none"),
    "a damaged file": of_files("whole", "cut"),
}


def repeat(run: Callable[..., Any], *arguments: Any) -> NoReturn:
    while True:
        run(*arguments)


def outcome(folder: pathlib.Path, pipeline: Any, run: Callable[..., Any]) -> Any:
    """Return the results of a step that is repeated until it fails, and its error."""
    folder.mkdir(exist_ok=True)
    with tf.Graph().as_default() as graph, tf.Session() as session:
        components = [tf.convert_to_tensor(value) for value in pipeline(folder)]
        queue = tf.FIFOQueue(4 * COUNT, [value.dtype for value in components])
        target, value, size = queue.enqueue(components), queue.dequeue(), queue.size()
        session.run(graph.get_collection("fill"))
        with pytest.raises(tf.errors.OpError) as caught:
            repeat(run, session, target)
        values = [session.run(value) for _ in range(session.run(size))]
    error = caught.value
    return values, type(error), error.op and error.op.name, error.message.partition("\n")[0]


@pytest.mark.parametrize("kind", ENDS)
def test_several_elements_end_as_single_steps_do(kind: str, tmp_path: pathlib.Path) -> None:
    def together(session: Any, target: Any) -> None:
        session.run_until(cancellation.Cancellation(), target)

    expected = outcome(tmp_path, ENDS[kind], lambda session, target: session.run(target))
    assert outcome(tmp_path, ENDS[kind], together) == expected


def test_only_the_element_that_fails_is_lost() -> None:
    source = tf.FIFOQueue(COUNT, [tf.int32], [[]])
    queue = tf.FIFOQueue(4 * COUNT, [tf.int32], [[]])
    target = queue.enqueue(100 // (source.dequeue() - 5))
    size, left = queue.size(), source.dequeue_up_to(source.size())
    with tf.Session() as session:
        session.run(source.enqueue_many([tf.range(COUNT)]))
        with pytest.raises(tf.errors.InvalidArgumentError):
            repeat(session.run_until, cancellation.Cancellation(), target)
        assert session.run(size) == 5
        assert session.run(left).tolist() == list(range(6, COUNT))


def test_records_that_go_back_to_their_file_are_read_again(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "numbers"
    path.write_text("".join(f"{number}\n" for number in range(COUNT)))
    reader, names = tf.TextLineReader(), tf.FIFOQueue(2, [tf.string], [[]])
    queue = tf.FIFOQueue(4 * COUNT, [tf.int32], [[]])
    target = queue.enqueue(100 // (tf.string_to_number(reader.read(names)[1], tf.int32) - 5))
    _, left = reader.read_up_to(names, COUNT)
    size, produced = queue.size(), reader.num_records_produced()
    with tf.Session() as session:
        session.run(names.enqueue(str(path)))
        with pytest.raises(tf.errors.InvalidArgumentError):
            repeat(session.run_until, cancellation.Cancellation(), target)
        assert session.run(size) == 5
        assert session.run(produced) == 6
        assert session.run(left).tolist() == [b"%d" % number for number in range(6, COUNT)]
        assert session.run(produced) == COUNT


class Failing:
    """A request that fails until it is mended, and counts its runs."""

    runs = 0
    is_mended = False

    def run(self, *_: Any) -> list[Any]:
        self.runs += 1
        if not self.is_mended:
            raise tf.errors.InvalidArgumentError(None, None, "a bad element")
        return []


def test_a_step_that_keeps_failing_is_tried_less_and_less_often() -> None:
    request: Any = Failing()
    steps: Any = None
    step = repeated.Repeated(request, most=2)
    tried = []
    for number in range(200):
        assert not step.run(steps, None, None)
        tried += [number] * (request.runs > len(tried))
    assert tried == [0, 3, 8, 17, 34, 67, 100, 133, 166, 199]
    request.is_mended = True
    assert [step.run(steps, None, None) for _ in range(34)] == [False] * 32 + [True] * 2


class Waiting:
    """A request whose runs wait, and that counts them."""

    def __init__(self) -> None:
        self.runs = 0
        self.may_end = threading.Event()

    def run(self, *_: Any) -> list[Any]:
        self.runs += 1
        assert self.may_end.wait(PATIENCE_S)
        return []


def test_a_core_runs_the_step_for_one_thread_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeated, "_PATIENCE_SECONDS", 0.001)
    monkeypatch.setattr(cores, "usable", lambda: 2)
    request: Any = Waiting()
    steps: Any = None
    step = repeated.Repeated(request, most=2)
    threads = [background.Background(lambda: step.run(steps, None, None)) for _ in range(2)]
    background.until(lambda: request.runs == 2)
    assert not step.run(steps, None, None)
    request.may_end.set()
    assert [thread.join() for thread in threads] == [True, True]
    assert step.run(steps, None, None)


class Ending(Waiting):
    """A request that waits for `may_end`, and then raises `error` if there is one."""

    def __init__(self, error: tf.errors.OpError | None) -> None:
        super().__init__()
        self.error = error

    def run(self, *arguments: Any) -> list[Any]:
        super().run(*arguments)
        if self.error is not None:
            raise self.error
        return []


@pytest.mark.parametrize("error", [None, tf.errors.InvalidArgumentError(None, None, "bad")])
def test_a_thread_at_the_end_waits_for_elements_that_another_thread_may_give_back(
    error: tf.errors.OpError | None,
) -> None:
    request: Any = Ending(error)
    steps: Any = None
    step = repeated.Repeated(request, most=2)
    mark = step.mark()
    other = background.Background(lambda: step.run(steps, None, None))
    background.until(lambda: request.runs == 1)
    end = background.Background(lambda: step.gave_back(mark))
    request.may_end.set()
    assert other.join() is (error is None)
    assert end.join() is (error is not None)
    assert not step.gave_back(step.mark())


@pytest.mark.e2e
def test_a_thread_reads_the_records_after_one_that_ends_another_thread(
    tmp_path: pathlib.Path,
) -> None:
    path = tmp_path / "numbers"
    path.write_text("".join(f"{number}\n" for number in range(COUNT)))

    def records() -> int:
        with tf.Graph().as_default(), tf.Session() as session:
            names = tf.FIFOQueue(2, [tf.string], [[]])
            queue = tf.FIFOQueue(4 * COUNT, [tf.int32], [[]])
            _, line = tf.TextLineReader().read(names)
            target = queue.enqueue(100 // (tf.string_to_number(line, tf.int32) - 5))
            fill, close, size = names.enqueue(str(path)), names.close(), queue.size()
            session.run(fill)
            session.run(close)
            both = threading.Barrier(2)

            def work() -> None:
                both.wait(PATIENCE_S)
                with pytest.raises(tf.errors.OpError):
                    repeat(session.run_until, cancellation.Cancellation(), target)

            threads = [background.Background(work) for _ in range(2)]
            for thread in threads:
                thread.join()
            return int(session.run(size))

    assert {records() for _ in range(50)} == {COUNT - 1}


def test_a_step_waits_for_room_with_half_of_the_elements_that_the_queue_holds() -> None:
    source = tf.FIFOQueue(100, [tf.int32], [[]])
    queue = tf.FIFOQueue(40, [tf.int32], [[]])
    target, sizes = queue.enqueue(source.dequeue()), [source.size(), queue.size()]
    end = cancellation.Cancellation()
    with tf.Session() as session:
        session.run(source.enqueue_many([tf.range(100)]))
        session.run_until(end, target)
        assert session.run(sizes) == [60, 40]
        waiting = background.Background(lambda: session.run_until(end, target))
        background.until(lambda: session.run(sizes) == [40, 40])
        assert session.run(queue.dequeue_many(60)).tolist() == list(range(60))
        waiting.join()


def of_queue(count: int, folder: pathlib.Path) -> tuple[Any, Any, Any]:
    """Return a number of a queue, the operation that fills the queue, and the numbers left."""
    source = tf.FIFOQueue(count, [tf.int32], [[]])
    left = source.dequeue_up_to(source.size())
    return source.dequeue(), source.enqueue_many([tf.range(count)]), left


def of_file(count: int, folder: pathlib.Path) -> tuple[Any, Any, Any]:
    """Return a number of a file as `of_queue`."""
    (folder / "numbers").write_text("".join(f"{number}\n" for number in range(count)))
    reader, names = tf.TextLineReader(), tf.FIFOQueue(2, [tf.string], [[]])
    number = tf.string_to_number(reader.read(names)[1], tf.int32)
    left = tf.string_to_number(reader.read_up_to(names, count)[1], tf.int32)
    return number, names.enqueue(str(folder / "numbers")), left


@pytest.mark.parametrize("source", [of_queue, of_file])
def test_elements_that_wait_for_a_queue_go_back_when_it_closes(
    source: Callable[[int, pathlib.Path], tuple[Any, Any, Any]], tmp_path: pathlib.Path
) -> None:
    number, fill, left = source(100, tmp_path)
    queue = tf.FIFOQueue(40, [tf.int32], [[]])
    target, size, taken = queue.enqueue(number), queue.size(), queue.dequeue_many(5)
    close, rest = queue.close(cancel_pending_enqueues=True), queue.dequeue_up_to(100)
    end = cancellation.Cancellation()
    with tf.Session() as session:
        session.run(fill)
        session.run_until(end, target)
        waiting = background.Background(lambda: session.run_until(end, target))
        assert session.run(taken).tolist() == list(range(5))
        # The step has 20 elements now, and room for 5 of them.
        background.until(lambda: session.run(size) == 40)
        session.run(close)
        with pytest.raises(tf.errors.CancelledError):
            waiting.join()
        assert session.run(rest).tolist() == list(range(5, 45))
        assert session.run(left).tolist() == list(range(45, 100))


def test_each_of_several_elements_gets_random_numbers_of_its_own() -> None:
    source = tf.FIFOQueue(COUNT, [tf.float32], [[]])
    queue = tf.FIFOQueue(4 * COUNT, [tf.float32], [[]])
    target = queue.enqueue(source.dequeue() + tf.random_uniform([]))
    with tf.Session() as session:
        session.run(source.enqueue_many([[0.0] * COUNT]))
        session.run_until(cancellation.Cancellation(), target)
        assert len(set(session.run(queue.dequeue_many(COUNT)).tolist())) == COUNT


def test_the_error_about_the_end_names_the_node_that_takes_one_element() -> None:
    source = tf.FIFOQueue(COUNT, [tf.float32], [[]])
    element = source.dequeue()
    target = tf.FIFOQueue(COUNT, [tf.float32], [[]]).enqueue(element)
    with tf.Session() as session:
        session.run(source.close())
        with pytest.raises(tf.errors.OutOfRangeError) as caught:
            session.run_until(cancellation.Cancellation(), target)
    assert caught.value.op is element.op


def test_operations_that_fill_one_queue_take_turns_after_a_few_elements() -> None:
    sources = [tf.FIFOQueue(100, [tf.int32], [[]]) for _ in range(2)]
    queue = tf.FIFOQueue(200, [tf.int32], [[]])
    targets = [queue.enqueue(source.dequeue()) for source in sources]
    with tf.Session() as session:
        for number, source in enumerate(sources):
            session.run(source.enqueue_many([[number] * 100]))
        for target in targets:
            session.run_until(cancellation.Cancellation(), target)
        values = session.run(queue.dequeue_up_to(queue.size()))
        assert values.tolist() == [0] * 8 + [1] * 8


def test_an_operation_takes_turns_with_one_that_is_added_later_to_its_queue() -> None:
    source = tf.FIFOQueue(100, [tf.int32], [[]])
    queue = tf.FIFOQueue(200, [tf.int32], [[]])
    target, size = queue.enqueue(source.dequeue()), queue.size()
    fill = source.enqueue_many([[0] * 100])
    with tf.Session() as session:
        session.run(fill)
        session.run_until(cancellation.Cancellation(), target)
        assert session.run(size) > 8
        before = session.run(size)
        session.run(queue.enqueue(1))
        session.run_until(cancellation.Cancellation(), target)
        assert session.run(size) == before + 1 + 8
