"""The signatures of a model with output alternatives: the outputs of each head, by its name.

Source: contrib/learn/python/learn/utils/saved_model_export_utils.py.
"""

from collections.abc import Mapping
from typing import Any, Final

from capstan.contrib.learn.problem_type import ProblemType
from capstan.core import dtypes
from capstan.estimator.export_output import ExportOutput
from capstan.train.saved_model import constants, signatures

_DEFAULT: Final = constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY
_CLASSIFICATIONS: Final = (ProblemType.CLASSIFICATION, ProblemType.LOGISTIC_REGRESSION)

INPUT_PREFIX: Final = "default_input_alternative:"
"""The begin of the names of signatures in the exports of `tf.contrib.learn`."""

Alternatives = Mapping[Any, tuple[int, Mapping[str, Any]]]
"""The problem type and the outputs of each head, by the name of the head."""


class StandardOutput(ExportOutput):
    """The outputs of one head. The problem and the inputs choose the kind of the signature.

    If the input is one tensor of Examples, a classifier with scores or with classes as text has the
    signature of TensorFlow Serving's Classify, and a regressor with one output that of Regress. All
    other heads have a signature for Predict.
    """

    def __init__(self, problem_type: int, outputs: Mapping[str, Any]) -> None:
        self._problem_type, self._outputs = problem_type, dict(outputs)

    def as_signature_def(self, receiver_tensors: Any) -> Any:
        """Return the SignatureDef whose inputs are the dictionary `receiver_tensors`."""
        outputs, inputs = self._outputs, list(receiver_tensors.values())
        if len(inputs) == 1 and inputs[0].dtype == dtypes.string:
            classes, scores = self._classes(), self._scores()
            has_result = classes is not None or scores is not None
            if has_result and self._problem_type in _CLASSIFICATIONS:
                return signatures.classification_signature_def(inputs[0], classes, scores)
            if len(outputs) == 1 and self._problem_type == ProblemType.LINEAR_REGRESSION:
                return signatures.regression_signature_def(inputs[0], next(iter(outputs.values())))
        return signatures.predict_signature_def(receiver_tensors, outputs)

    def _classes(self) -> Any:
        found = self._outputs.get("classes")
        return found if found is not None and found.dtype == dtypes.string else None

    def _scores(self) -> Any:
        found = self._outputs.get("scores")
        return self._outputs.get("probabilities") if found is None else found


def export_outputs(
    alternatives: Alternatives, default: Any, prefix: str = ""
) -> dict[str, ExportOutput]:
    """Return the ExportOutputs of the heads by the names of signatures.

    The default signature is that of the head `default`, or of the only head. The other names are
    those of the heads after `prefix`.

    Raises:
        ValueError: there is no head `default`, or there are several heads and no default.
    """
    names = sorted(map(str, alternatives))
    if default is None and len(alternatives) > 1:
        raise ValueError(
            "Please specify a default_output_alternative.  Available output_alternatives are: "
            f"{names}"
        )
    if default is not None and default not in alternatives:
        raise ValueError(
            f"Requested default_output_alternative: {default}, but available output_alternatives "
            f"are: {names}"
        )
    chosen = next(iter(alternatives)) if default is None else default
    return {
        **{
            f"{prefix}{name}": StandardOutput(*alternative)
            for name, alternative in alternatives.items()
        },
        _DEFAULT: StandardOutput(*alternatives[chosen]),
    }
