"""The metrics of Keras have the variables, configurations and values of TensorFlow's Keras."""

from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

RANDOM = np.random.RandomState(3)
SCORES = [RANDOM.uniform(0.05, 0.95, (6, 4)).astype(np.float32) for _ in range(2)]
TRUTHS = [(RANDOM.uniform(size=(6, 4)) > 0.5).astype(np.float32) for _ in range(2)]
CLASSES = [RANDOM.randint(0, 4, 6) for _ in range(2)]
ONE_HOT = [np.eye(4, dtype=np.float32)[each] for each in CLASSES]
FLAT_SCORES = [each[:, 0] for each in SCORES]
FLAT_TRUTHS = [each[:, 0] for each in TRUTHS]
FEW = [np.round(each * 2) / 2 for each in FLAT_SCORES]
WEIGHTS = {
    "unweighted": [None, None],
    "scalar": [0.5, 2.0],
    "rows": [RANDOM.uniform(size=6).astype(np.float32) for _ in range(2)],
    "column": [RANDOM.uniform(size=(6, 1)).astype(np.float32) for _ in range(2)],
}
TRUTH, CLASS, HOT, FLAT = (
    (TRUTHS, SCORES),
    (CLASSES, SCORES),
    (ONE_HOT, SCORES),
    (
        FLAT_TRUTHS,
        FLAT_SCORES,
    ),
)
METRICS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "Accuracy": (lambda m: m.Accuracy(), (CLASSES, CLASSES[::-1])),
    "Accuracy, column": (lambda m: m.Accuracy("mine"), ([c[:, None] for c in CLASSES], CLASSES)),
    "BinaryAccuracy": (lambda m: m.BinaryAccuracy(threshold=0.4), TRUTH),
    "BinaryAccuracy, flat": (lambda m: m.BinaryAccuracy(), FLAT),
    "CategoricalAccuracy": (lambda m: m.CategoricalAccuracy(), HOT),
    "SparseCategoricalAccuracy": (lambda m: m.SparseCategoricalAccuracy(), CLASS),
    "SparseCategoricalAccuracy, column": (
        lambda m: m.SparseCategoricalAccuracy(),
        ([each[:, None] for each in CLASSES], SCORES),
    ),
    "TopKCategoricalAccuracy": (lambda m: m.TopKCategoricalAccuracy(2), HOT),
    "SparseTopKCategoricalAccuracy": (lambda m: m.SparseTopKCategoricalAccuracy(k=2), CLASS),
    "TruePositives": (lambda m: m.TruePositives([0.2, 0.6]), TRUTH),
    "TrueNegatives": (lambda m: m.TrueNegatives(0.4), TRUTH),
    "FalsePositives": (lambda m: m.FalsePositives(name="wrong"), FLAT),
    "FalseNegatives": (lambda m: m.FalseNegatives([0.2, 0.6]), FLAT),
    "Precision": (lambda m: m.Precision(), TRUTH),
    "Precision, top": (lambda m: m.Precision(top_k=2), HOT),
    "Recall": (lambda m: m.Recall([0.1, 0.7]), TRUTH),
    "Recall, class": (lambda m: m.Recall(0.1, top_k=3, class_id=1), HOT),
    "AUC": (lambda m: m.AUC(), FLAT),
    "AUC, PR": (lambda m: m.AUC(30, curve="PR"), FLAT),
    "AUC, PR, few": (lambda m: m.AUC(5, "pr"), (FLAT_TRUTHS, FEW)),
    "AUC, PR, majoring": (lambda m: m.AUC(10, "PR", "majoring"), TRUTH),
    "AUC, minoring": (lambda m: m.AUC(10, summation_method="minoring"), TRUTH),
    "AUC, thresholds": (lambda m: m.AUC(thresholds=[0.7, 0.2, 0.5]), TRUTH),
    "CosineSimilarity": (lambda m: m.CosineSimilarity(axis=1), TRUTH),
    "MeanSquaredError": (lambda m: m.MeanSquaredError(dtype="float64"), TRUTH),
    "MeanAbsoluteError": (lambda m: m.MeanAbsoluteError(), TRUTH),
    "MeanAbsolutePercentageError": (lambda m: m.MeanAbsolutePercentageError(), (SCORES, TRUTHS)),
    "MeanSquaredLogarithmicError": (lambda m: m.MeanSquaredLogarithmicError(), TRUTH),
    "RootMeanSquaredError": (lambda m: m.RootMeanSquaredError(), TRUTH),
    "MeanRelativeError": (lambda m: m.MeanRelativeError([0.5, 2.0, 0.0, 1.0]), TRUTH),
    "Hinge": (lambda m: m.Hinge(), TRUTH),
    "SquaredHinge": (lambda m: m.SquaredHinge(), TRUTH),
    "CategoricalHinge": (lambda m: m.CategoricalHinge(), HOT),
    "KLDivergence": (lambda m: m.KLDivergence(), TRUTH),
    "Poisson": (lambda m: m.Poisson(), TRUTH),
    "LogCoshError": (lambda m: m.LogCoshError(), TRUTH),
    "BinaryCrossentropy": (lambda m: m.BinaryCrossentropy(label_smoothing=0.2), TRUTH),
    "CategoricalCrossentropy": (
        lambda m: m.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1),
        HOT,
    ),
    "SparseCategoricalCrossentropy": (lambda m: m.SparseCategoricalCrossentropy(), CLASS),
    "MeanIoU": (lambda m: m.MeanIoU(5, dtype="float64"), (CLASSES, CLASSES[::-1])),
    "Sum": (lambda m: m.Sum(), (SCORES,)),
    "Mean": (lambda m: m.Mean(), (SCORES,)),
    "MeanTensor": (lambda m: m.MeanTensor(), (SCORES,)),
}


@pytest.fixture(scope="module")
def keras(tf: Any) -> Any:
    """The metrics of the Keras that is inside of TensorFlow 2, which keeps those of 1.15."""
    from tensorflow.python.keras import metrics

    return metrics


def measured(module: Any, metrics: Any, name: str, weights: Any) -> Any:
    """Return the configuration, the variables, and the values after each batch."""
    make, batches = METRICS[name]
    with module.Graph().as_default(), module.Session() as session:
        metric = make(metrics)
        config = metrics.serialize(metric)
        inputs = [module.placeholder(each[0].dtype, each[0].shape) for each in batches]
        weight = None
        if weights[0] is not None:
            weight = module.placeholder(module.float32, np.shape(weights[0]))
        update, value = metric.update_state(*inputs, sample_weight=weight), metric.result()
        session.run([variable.initializer for variable in metric.variables])
        found = []
        for number, weight_value in enumerate(weights):
            feeds = dict(zip(inputs, (each[number] for each in batches), strict=True))
            if weight is not None:
                feeds[weight] = weight_value
            session.run(update, feeds)
            found += [session.run(value), *session.run(metric.variables)]
        collected = [v.name for v in module.global_variables() + module.local_variables()]
        names = [(v.name, v.dtype.base_dtype.name, v.trainable) for v in metric.variables]
        return config, names, collected, len(metric.updates), found


OTHER_WEIGHTS = {
    name: set(WEIGHTS) - {"rows"}
    for name in ("AUC, PR, majoring", "Mean", "MeanSquaredError", "MeanTensor", "Precision", "Sum")
} | {name: {"unweighted"} for name in ("Accuracy", "MeanIoU", "SparseCategoricalAccuracy")}


ONLY_UNWEIGHTED = ("BinaryAccuracy, flat", "Recall, class")


@pytest.mark.parametrize(
    ("name", "weights"),
    [
        # The values of two metrics have no row for each weight.
        *((name, "rows") for name in METRICS if name not in ONLY_UNWEIGHTED),
        *((name, "unweighted") for name in ONLY_UNWEIGHTED),
        *((name, each) for name, others in OTHER_WEIGHTS.items() for each in sorted(others)),
    ],
)
def test_a_metric_has_the_variables_and_values_of_keras(
    v1: Any, keras: Any, name: str, weights: str
) -> None:
    *expected, values = measured(v1, keras, name, WEIGHTS[weights])
    *found, found_values = measured(capstan, capstan.keras.metrics, name, WEIGHTS[weights])
    np.testing.assert_equal(_known(found[0]), _known(expected[0]))
    assert found[1:] == expected[1:]
    for value, wanted in zip(found_values, values, strict=True):
        assert np.asarray(value).dtype == np.asarray(wanted).dtype
        np.testing.assert_allclose(value, wanted, rtol=2e-5, atol=2e-6)


def _known(config: Any) -> Any:
    """Return a configuration without the arguments that later versions of Keras have."""
    later = ("multi_label", "label_weights", "shape", "normalizer")
    return {key: value for key, value in config["config"].items() if key not in later}
