"""TensorFlow loads the SavedModels of Capstan, and Capstan loads those of TensorFlow."""

import importlib
import pathlib
from typing import Any

import genuine
import numpy as np
import pytest

import capstan
from capstan.train.saved_model import loader

pytestmark = genuine.MARKS

BUILDERS = [
    "tensorflow.python.saved_model.builder_impl", "capstan.python.saved_model.builder_impl"
]  # fmt: skip
TRAIN_OP = "__saved_model_train_op"
WORDS = [b"mars", b"venus", b"pluto"]


def build(v1: Any, folder: pathlib.Path) -> tuple[Any, Any, Any]:
    """Build a model: the rows of words in a vocabulary, and their scores."""
    (folder / "words.txt").write_text("mercury\nvenus\nmars\n")
    table = v1.lookup.StaticVocabularyTable(
        v1.lookup.TextFileInitializer(
            str(folder / "words.txt"),
            *(v1.string, v1.lookup.TextFileIndex.WHOLE_LINE),
            *(v1.int64, v1.lookup.TextFileIndex.LINE_NUMBER),
        ),
        num_oov_buckets=1,
    )
    words = v1.placeholder(v1.string, [None], name="words")
    rows = v1.get_variable(
        "rows",
        initializer=np.arange(12, dtype=np.float32).reshape(4, 3),
        partitioner=None,
    )
    with v1.variable_scope("head", use_resource=True):
        weights = v1.get_variable("weights", initializer=np.float32([[1], [-2], [3]]))
        # TensorFlow's saver reads the parts of a variable in another way than whole variables.
        parts = v1.get_variable(
            "parts", [2], initializer=v1.zeros_initializer(),
            partitioner=v1.fixed_size_partitioner(2),
        )  # fmt: skip
    found = v1.nn.embedding_lookup(rows, table.lookup(words))
    scores = v1.squeeze(v1.matmul(found, weights) + v1.reduce_sum(parts), 1, name="scores")
    return words, found, scores


def write(v1: Any, folder: pathlib.Path, kind: str) -> str:
    """Write the model, and return its folder."""
    path = str(folder / "model")
    with v1.Graph().as_default(), v1.Session() as session:
        words, found, scores = build(v1, folder)
        session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        session.run(
            v1.trainable_variables()[0].assign(np.ones([4, 3], np.float32) * [[1], [2], [3], [4]])
        )
        saved_model = v1.saved_model
        if kind == "simple":
            saved_model.simple_save(
                session, path, {"words": words}, {"rows": found, "scores": scores},
                legacy_init_op=v1.tables_initializer(),
            )  # fmt: skip
            return path
        signatures = {
            "serving_default": saved_model.signature_def_utils.predict_signature_def(
                {"words": words}, {"rows": found, "scores": scores}
            ),
            "classify": saved_model.signature_def_utils.classification_signature_def(
                words, None, scores
            ),
            "regress": saved_model.signature_def_utils.regression_signature_def(words, scores),
            "mine": saved_model.signature_def_utils.build_signature_def(
                inputs={"in": saved_model.utils.build_tensor_info(words)},
                outputs={"out": saved_model.utils.build_tensor_info(scores)},
                method_name="mine",
            ),
        }
        files = v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS)
        options = {"signature_def_map": signatures, "strip_default_attrs": True}
        if kind == "operations":
            options.update(assets_list=files, init_op=v1.tables_initializer())
            step = v1.get_variable("step", initializer=1)
            session.run(step.initializer)
            options["train_op"] = v1.assign_add(step, 1)
            builder = importlib.import_module(BUILDERS[v1 is capstan])._SavedModelBuilder(path)
        else:
            options.update(assets_collection=files, main_op=v1.tables_initializer())
            builder = saved_model.builder.SavedModelBuilder(path)
        builder.add_meta_graph_and_variables(
            session, [saved_model.tag_constants.SERVING], **options
        )
        with v1.Graph().as_default():
            v1.get_variable("rows", [4, 3])
            builder.add_meta_graph([saved_model.tag_constants.TRAINING, "more"])
        builder.save(as_text=kind == "text")
    return path


def predictions(v1: Any, path: str, scope: str | None = None) -> list[Any]:
    """Load the model, and return its signatures and their results."""
    with v1.Graph().as_default(), v1.Session() as session:
        assert v1.saved_model.loader.maybe_saved_model_directory(path)
        meta = v1.saved_model.loader.load(session, ["serve"], path, import_scope=scope)
        signature = meta.signature_def["serving_default"]
        find = v1.saved_model.utils.get_tensor_from_tensor_info
        outputs = {key: find(info, import_scope=scope) for key, info in signature.outputs.items()}
        words = find(signature.inputs["words"], import_scope=scope)
        values = session.run(outputs, {words: WORDS})
        if TRAIN_OP in meta.signature_def:
            info = meta.signature_def[TRAIN_OP].outputs[TRAIN_OP]
            values["step"] = session.run(find(info, import_scope=scope))
        valid = v1.saved_model.signature_def_utils.is_valid_signature
        shown = {
            key: (each.method_name, sorted(each.inputs), sorted(each.outputs), valid(each))
            for key, each in meta.signature_def.items()
        }
        return [shown, *(value.tolist() for _, value in sorted(values.items()))]


@pytest.mark.parametrize("kind", ["simple", "builder", "text", "operations"])
@pytest.mark.parametrize("scope", [None, "inner"])
def test_each_loads_the_models_of_the_other(
    v1: Any, tmp_path: pathlib.Path, kind: str, scope: str | None
) -> None:
    results = []
    for name, writer in (("theirs", v1), ("ours", capstan)):
        (tmp_path / name).mkdir()
        path = write(writer, tmp_path / name, kind)
        # A loaded model reads the copy of the vocabulary.
        (tmp_path / name / "words.txt").write_text("pluto\npluto\n")
        results += [predictions(reader, path, scope) for reader in (v1, capstan)]
    assert results[0][2] == [6.0, 4.0, 8.0]
    assert results == results[:1] * 4


def test_a_graph_without_values_is_found_by_its_tags(v1: Any, tmp_path: pathlib.Path) -> None:
    for name, writer in (("theirs", v1), ("ours", capstan)):
        (tmp_path / name).mkdir()
        path = write(writer, tmp_path / name, "builder")
        for reader in (v1, capstan):
            with reader.Graph().as_default(), reader.Session() as session:
                reader.saved_model.loader.load(session, ["more", "train"], path)
                assert session.run("rows:0")[:, 0].tolist() == [1, 2, 3, 4]
                with pytest.raises(RuntimeError, match=r"associated with tags .*none"):
                    reader.saved_model.loader.load(session, ["none"], path)


def loader_of(module: Any, path: str) -> Any:
    if module is capstan:
        return loader.SavedModelLoader(path)
    from tensorflow.python.saved_model import loader_impl

    return loader_impl.SavedModelLoader(path)


def steps(module: Any, path: str, scope: str | None, names: list[str] | None) -> Any:
    """Load the variables of a model step by step. Return what the steps return, and a row."""
    with module.Graph().as_default() as graph, module.Session() as session:
        loading = loader_of(module, path)
        options = {} if names is None else {"return_elements": names}
        saver, elements = loading.load_graph(graph, ["train", "more"], scope, **options)
        errors = []
        for wrong in (None, "no saver"):
            with pytest.raises(ValueError, match="saver") as caught:
                loading.restore_variables(session, wrong, scope)
            errors.append(caught.type)
        loading.restore_variables(session, saver, scope)
        row = session.run(f"{scope}/rows:0" if scope else "rows:0")[:, 0].tolist()
        found = None if elements is None else [each.name for each in elements]
    with module.Graph().as_default(), module.Session() as session:
        loading.restore_variables(session, None)
    return saver is not None, found, errors, row


@pytest.mark.parametrize("names", [None, ["rows", "rows:0"]])
@pytest.mark.parametrize("scope", [None, "inner"])
def test_the_steps_of_loading_return_a_saver_and_elements(
    v1: Any, tmp_path: pathlib.Path, scope: str | None, names: list[str] | None
) -> None:
    path = write(v1, tmp_path, "builder")
    assert steps(capstan, path, scope, names) == steps(v1, path, scope, names)


def test_the_files_and_constants_are_tensorflows(v1: Any, tmp_path: pathlib.Path) -> None:
    names = []
    for name, writer in (("theirs", v1), ("ours", capstan)):
        (tmp_path / name).mkdir()
        path = pathlib.Path(write(writer, tmp_path / name, "builder"))
        names.append(sorted(str(file.relative_to(path)) for file in path.rglob("*")))
    assert names[0] == [each for each in names[1] if each in names[0]]
    for part in ("", "constants", "signature_constants", "tag_constants"):
        theirs, ours = (
            getattr(library.saved_model, part) if part else library.saved_model
            for library in (v1, capstan)
        )
        constants = {name: getattr(theirs, name) for name in dir(theirs) if name.isupper()}
        known = {name: getattr(ours, name) for name in constants if not name.startswith("DEBUG_")}
        assert known == {name: constants[name] for name in known}


def outcome(v1: Any, case: str) -> Any:
    """Return the type of the error of a wrong signature, or whether the signature is valid."""
    utilities = v1.saved_model.signature_def_utils
    info = v1.saved_model.utils.build_tensor_info
    with v1.Graph().as_default():
        text, number = v1.placeholder(v1.string), v1.placeholder(v1.float32)
        makes = {
            "no inputs": lambda: utilities.predict_signature_def({}, {"a": text}),
            "no outputs": lambda: utilities.predict_signature_def({"a": text}, None),
            "no examples": lambda: utilities.regression_signature_def(None, number),
            "no predictions": lambda: utilities.regression_signature_def(text, None),
            "numbers as examples": lambda: utilities.regression_signature_def(number, number),
            "texts as predictions": lambda: utilities.regression_signature_def(text, text),
            "a list of examples": lambda: utilities.regression_signature_def(["a"], number),
            "neither": lambda: utilities.classification_signature_def(text, None, None),
            "numbers as classes": lambda: utilities.classification_signature_def(
                text, number, None
            ),
            "texts as scores": lambda: utilities.classification_signature_def(text, None, text),
            "both": lambda: utilities.classification_signature_def(text, text, number),
            "an empty signature": lambda: utilities.build_signature_def(),
            "None": lambda: None,
            "predict": lambda: utilities.predict_signature_def({"a": number}, {"b": text}),
            "predict without outputs": lambda: utilities.build_signature_def(
                {"a": info(text)},
                {},
                "tensorflow/serving/predict",
            ),
        }
        try:
            return utilities.is_valid_signature(makes[case]())
        except ValueError:
            return "ValueError"


@pytest.mark.parametrize(
    "case",
    [
        *("no inputs", "no outputs", "no examples", "no predictions", "numbers as examples"),
        *("texts as predictions", "a list of examples", "neither", "numbers as classes"),
        *("texts as scores", "both", "an empty signature", "None", "predict"),
        "predict without outputs",
    ],
)
def test_signatures_are_checked_as_in_tensorflow(v1: Any, case: str) -> None:
    assert outcome(capstan, case) == outcome(v1, case)


def test_tensorflow_imports_graphs_with_shapes_and_resource_variables(v1: Any) -> None:
    with capstan.Graph().as_default() as graph:
        capstan.get_variable("v", [3, 1], use_resource=True)
    message = v1.GraphDef.FromString(graph.as_graph_def(add_shapes=True).SerializeToString())
    with v1.Graph().as_default() as imported:
        v1.import_graph_def(message, name="")
        assert imported.get_tensor_by_name("v/Read/ReadVariableOp:0").shape.as_list() == [3, 1]
