"""PyYAML, which only models in YAML need."""

from typing import Any


def module() -> Any:
    """Return the module `yaml`.

    Raises:
        ImportError: PyYAML is not installed.
    """
    try:
        import yaml
    except ImportError:
        raise ImportError(
            "Models in YAML need the package PyYAML: pip install pyyaml. Models in JSON do not: "
            "use to_json and tf.keras.models.model_from_json"
        ) from None
    return yaml
