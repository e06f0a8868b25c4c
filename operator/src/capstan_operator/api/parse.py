"""The text of a TrainingJob to values: defaults filled in, every fault reported at once."""

import yaml

from capstan_operator.api.spec import TrainingJob


def parse(text: str) -> TrainingJob:
    """Read one TrainingJob from YAML or JSON, strictly: what is not known is a fault.

    Raises errors.Invalid with all faults of the document.
    """
    return TrainingJob.model_validate(yaml.safe_load(text), by_alias=True, by_name=False)
