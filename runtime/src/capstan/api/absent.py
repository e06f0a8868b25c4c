"""The error for a name of TensorFlow 1 that Capstan does not have."""


def absent(module: str, name: str) -> AttributeError:
    """Return the AttributeError for a missing `name` of `module`, such as `tf.nn`."""
    inner = module.replace("tf", "capstan", 1)
    return AttributeError(
        f"module {inner!r} has no attribute {name!r}: Capstan lacks this part of TensorFlow 1"
    )
