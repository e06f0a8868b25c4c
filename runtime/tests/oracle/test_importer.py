"""`import_graph_def` adds the operations that TensorFlow adds, and refuses the same graphs."""

from collections.abc import Callable
from typing import Any

import genuine
import pytest
from google.protobuf import text_format

import capstan

pytestmark = genuine.MARKS

FLOAT = "attr { key: 'T' value { type: DT_FLOAT } }"


def node(name: str, op: str, inputs: str = "", attrs: str = "", device: str = "") -> str:
    named = "".join(f"input: '{text}' " for text in inputs.split())
    return f"node {{ name: '{name}' op: '{op}' {named} device: '{device}' {attrs} }}"


def placeholder(name: str, dtype: str = "DT_FLOAT", size: int = 2) -> str:
    return node(
        name,
        "Placeholder",
        attrs=f"attr {{ key: 'dtype' value {{ type: {dtype} }} }} attr {{ key: 'shape' value {{ "
        f"shape {{ dim {{ size: {size} }} }} }} }}",
    )


def negative(name: str, inputs: str, more: str = "", device: str = "") -> str:
    return node(name, "Neg", inputs, FLOAT + more, device)


A = placeholder("A")
CHAIN = A + negative("B", "A", device="/cpu:1") + negative("D", "B ^A")
COLOCATED = " attr { key: '_class' value { list { s: 'loc:@%s' } } }"
LOOP = """
    node { name: 'E' op: 'Enter' input: 'A' FLOAT attr { key: 'frame_name' value { s: 'f' } }
           attr { key: 'is_constant' value { b: false } }
           attr { key: 'parallel_iterations' value { i: 10 } } }
    node { name: 'M' op: 'Merge' input: 'E' input: 'N' FLOAT attr { key: 'N' value { i: 2 } } }
    node { name: 'L' op: 'Placeholder' attr { key: 'dtype' value { type: DT_BOOL } }
           attr { key: 'shape' value { shape { unknown_rank: true } } } }
    node { name: 'C' op: 'LoopCond' input: 'L' }
    node { name: 'S' op: 'Switch' input: 'M' input: 'C' FLOAT }
    node { name: 'N' op: 'NextIteration' input: 'S:1' FLOAT }
    node { name: 'X' op: 'Exit' input: 'S' FLOAT }
""".replace("FLOAT", FLOAT)

Arguments = Callable[[Any], dict[str, Any]]


def nothing(tf: Any) -> dict[str, Any]:
    return {}


def outline(graph: Any) -> list[Any]:
    return [
        (
            op.name,
            op.type,
            op.device,
            [tensor.name for tensor in op.inputs],
            [source.name for source in op.control_inputs],
            op.colocation_groups(),
            [str(tensor.shape) for tensor in op.outputs],
        )
        for op in graph.get_operations()
    ]


def imported(tf: Any, text: str, arguments: Arguments, times: int = 1) -> Any:
    with tf.Graph().as_default() as graph:
        tf.constant(1.0, name="B")
        keywords = arguments(tf)
        for _ in range(times):
            with tf.device("/job:ps"), tf.name_scope("outer"):
                found = tf.import_graph_def(text_format.Parse(text, tf.GraphDef()), **keywords)
        names = None if found is None else [each.name for each in found]
        return names, outline(graph)


WORKS: dict[str, tuple[str, Arguments]] = {
    "plain": (CHAIN, nothing),
    "out of order": (negative("B", "A") + A, nothing),
    "no scope": (CHAIN, lambda tf: {"name": ""}),
    "a scope": (CHAIN, lambda tf: {"name": "x/y"}),
    "an open scope": (CHAIN, lambda tf: {"name": "x/"}),
    "elements": (CHAIN, lambda tf: {"return_elements": ["D:0", "B"]}),
    "a mapped input": (
        CHAIN,
        lambda tf: {"input_map": {"A:0": tf.constant([1.0, 2.0])}, "return_elements": ["A:0"]},
    ),
    "a mapped value": (CHAIN, lambda tf: {"input_map": {"A": [1.0, 2.0]}}),
    "a missing input that is mapped": (
        negative("B", "Q"),
        lambda tf: {"input_map": {"Q:0": tf.constant(1.0)}},
    ),
    "colocated": (CHAIN + negative("K", "A", COLOCATED % "B"), nothing),
    "a loop": (A + LOOP, nothing),
    "colocated with itself": (A + negative("B", "A", COLOCATED % "B", device="/cpu:1"), nothing),
    "colocated with a node that has a device": (
        A
        + negative("B", "A", COLOCATED % "B", device="/cpu:1")
        + negative("C", "A", COLOCATED % "B", device="/cpu:0"),
        nothing,
    ),
    "a placeholder of an old graph": (
        "versions { producer: 21 } "
        + node(
            "A",
            "Placeholder",
            attrs="attr { key: 'dtype' value { type: DT_FLOAT } } "
            "attr { key: 'shape' value { shape { } } }",
        )
        + negative("B", "A"),
        nothing,
    ),
    "shapes": (
        A
        + negative(
            "B",
            "A",
            " attr { key: '_output_shapes' value { list { shape { dim { size: 2 } } } } }",
        ),
        nothing,
    ),
}


@pytest.mark.parametrize("name", WORKS)
def test_the_operations_are_those_of_tensorflow(v1: Any, name: str) -> None:
    text, arguments = WORKS[name]
    found, expected = (imported(tf, text, arguments, 2) for tf in (capstan, v1))
    assert found[0] == expected[0]
    for operation, wanted in zip(found[1], expected[1], strict=True):
        assert operation == wanted


FAILS: dict[str, tuple[str, Arguments]] = {
    "a missing input": (A + negative("B", "X"), nothing),
    "a missing input with an index": (A + negative("B", "X:0"), nothing),
    "an input with two colons": (A + negative("B", "A:B:0"), nothing),
    "an input with a word as index": (A + negative("B", "A:B"), nothing),
    "an input with a negative index": (A + negative("B", "A:-1"), nothing),
    "a missing control input": (A + negative("B", "A ^X"), nothing),
    "a control input with an index": (A + negative("B", "A ^A:0"), nothing),
    "other shapes": (
        A
        + negative(
            "B",
            "A",
            " attr { key: '_output_shapes' value { list { shape { dim { size: 3 } } } } }",
        ),
        nothing,
    ),
    "a missing output": (A + negative("B", "A:1"), nothing),
    "another type": (placeholder("A", "DT_INT32") + negative("B", "A"), nothing),
    "a missing attribute": (A + node("B", "Neg", "A"), nothing),
    "a wrong attribute": (
        A + node("B", "Neg", "A", "attr { key: 'T' value { type: DT_BOOL } }"),
        nothing,
    ),
    "a short list": (
        node("Q", "FIFOQueueV2", "", "attr { key: 'component_types' value { list {} } }"),
        nothing,
    ),
    "no branches": (
        placeholder("I", "DT_INT32")
        + node(
            "C",
            "Case",
            "I",
            "".join(
                f"attr {{ key: '{name}' value {{ list {{}} }} }}"
                for name in ("Tin", "Tout", "branches")
            ),
        ),
        nothing,
    ),
    "no elements": (
        node("O", "OptionalFromValue", "", "attr { key: 'Toutput_types' value { list {} } }"),
        nothing,
    ),
    "a small number": (
        node("P", "Pack", "", "attr { key: 'N' value { i: 0 } } " + FLOAT),
        nothing,
    ),
    "a negative number": (
        node(
            "S",
            "StageSize",
            "",
            "attr { key: 'capacity' value { i: -1 } } "
            "attr { key: 'dtypes' value { list { type: DT_FLOAT } } }",
        ),
        nothing,
    ),
    "another word": (
        A
        + placeholder("B")
        + node("C", "BiasAdd", "A B", "attr { key: 'data_format' value { s: 'BAD' } } " + FLOAT),
        nothing,
    ),
    "few inputs": (A + node("B", "Add", "A", FLOAT), nothing),
    "many inputs": (A + negative("B", "A A"), nothing),
    "a name twice": (A + A, nothing),
    "a name with a colon": (placeholder("A:b"), nothing),
    "a name with an underscore": (placeholder("_A"), nothing),
    "a cycle": (A + negative("B", "C") + negative("C", "B"), nothing),
    "control inputs first": (A + negative("B", "^A A"), nothing),
    "an unknown group": (A + negative("B", "A", COLOCATED % "X"), nothing),
    "shapes that do not fit": (
        A + placeholder("S", size=3) + node("B", "Add", "A S", FLOAT),
        nothing,
    ),
    "a mapped input of another type": (CHAIN, lambda tf: {"input_map": {"A:0": tf.constant(1)}}),
    "a mapped input that is not there": (
        CHAIN,
        lambda tf: {"input_map": {"X:0": tf.constant(1.0)}},
    ),
    "mapped values without a scope": (CHAIN, lambda tf: {"input_map": {"A": 1.0}, "name": ""}),
    "a map with a wrong key": (CHAIN, lambda tf: {"input_map": {3: 1.0}}),
    "a map that is none": (CHAIN, lambda tf: {"input_map": [1]}),
    "a missing operation": (CHAIN, lambda tf: {"return_elements": ["Q"]}),
    "a missing tensor": (CHAIN, lambda tf: {"return_elements": ["Q:0"]}),
    "a missing index": (CHAIN, lambda tf: {"return_elements": ["B:4"]}),
    "an element that is no name": (CHAIN, lambda tf: {"return_elements": [3]}),
    "a word as index": (CHAIN, lambda tf: {"return_elements": ["B:x"]}),
    "two colons": (CHAIN, lambda tf: {"return_elements": ["B:1:2"]}),
}


def refusal(tf: Any, text: str, arguments: Arguments) -> tuple[str, str]:
    with pytest.raises(Exception) as raised:
        imported(tf, text, arguments)
    # TensorFlow also shows the signature of the op. Its shape errors show all attributes.
    message = str(raised.value).replace("DT_FLOAT", "float")
    message = message.partition("of allowed values")[0]
    first = message.partition("; Op<")[0].partition("; signature")[0].partition(" for '")[0]
    return type(raised.value).__name__, first.partition(">;")[0]


@pytest.mark.parametrize("name", FAILS)
def test_a_wrong_graph_is_refused_with_the_error_of_tensorflow(v1: Any, name: str) -> None:
    assert refusal(capstan, *FAILS[name]) == refusal(v1, *FAILS[name])


def test_an_unknown_op_is_refused(v1: Any) -> None:
    for tf in (capstan, v1):
        with pytest.raises(tf.errors.NotFoundError, match="Op type not registered 'Nonsense'"):
            imported(tf, node("B", "Nonsense"), nothing)


def test_a_value_that_is_not_a_graph_is_refused() -> None:
    with pytest.raises(TypeError, match="must be a GraphDef proto"):
        capstan.import_graph_def("graph")


def test_a_graph_is_the_same_after_export_and_import(v1: Any) -> None:
    with capstan.Graph().as_default() as graph:
        capstan.import_graph_def(text_format.Parse(A + LOOP, capstan.GraphDef()), name="")
    message = graph.as_graph_def()
    with capstan.Graph().as_default() as again:
        capstan.import_graph_def(message, name="")
    assert outline(again) == outline(graph)
    assert again.as_graph_def() == message


def test_a_loop_is_imported_into_a_conditional(v1: Any) -> None:
    with v1.Graph().as_default() as graph:
        v1.while_loop(lambda number: number < 3, lambda number: number + 1, [v1.constant(0)])
    results = []
    for tf in (capstan, v1):
        with tf.Graph().as_default() as taken:
            is_on = tf.placeholder(tf.bool, [])

            def loop(tf: Any = tf) -> Any:
                return tf.import_graph_def(graph.as_graph_def(), return_elements=["while/Exit:0"])[
                    0
                ]

            number = tf.cond(is_on, loop, lambda tf=tf: tf.constant(7))
            inside = [op for op in taken.get_operations() if "/import/" in op.name]
            waits = {op.name: [source.name for source in op.control_inputs] for op in inside}
            with tf.Session() as session:
                results.append([waits, *(session.run(number, {is_on: on}) for on in (True, False))])
    assert results[0] == results[1]
    assert results[0][1:] == [3, 7]


def program(tf: Any) -> None:
    x = tf.placeholder(tf.float32, [], "x")
    weight = tf.get_variable("weight", initializer=2.0)

    def body(number: Any, value: Any) -> Any:
        return number + 1, tf.cond(value > 5.0, lambda: value + x, lambda: value * weight)

    _, y = tf.while_loop(lambda number, _: number < 4, body, [tf.constant(0), x])
    tf.identity(y, name="y")


def outcome(tf: Any, target: str, meta: Any) -> Any:
    with tf.Graph().as_default() as graph, tf.Session(target) as session:
        tf.train.import_meta_graph(meta)
        (weight,) = tf.trainable_variables()
        x, y = (graph.get_tensor_by_name(name) for name in ("x:0", "y:0"))
        gradients = tf.gradients(y, [x, weight])
        session.run(weight.initializer)
        return session.run([y, *gradients], {x: 3.0})


@pytest.mark.parametrize("is_exported_by_capstan", [False, True], ids=["tensorflow", "capstan"])
def test_a_meta_graph_with_loops_is_read_by_both(v1: Any, is_exported_by_capstan: bool) -> None:
    tf = capstan if is_exported_by_capstan else v1
    with tf.Graph().as_default():
        program(tf)
        content = tf.train.export_meta_graph().SerializeToString()
    meta = v1.MetaGraphDef.FromString(content)
    # 3, 6, 9, 12, 15: 2 * x ** 1 + 3 * x
    assert outcome(capstan, "", meta) == outcome(v1, "", meta) == [15.0, 5.0, 3.0]
