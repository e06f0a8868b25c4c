"""What a module of `tf` says of a name that it has not."""


def absent(module: str, name: str) -> AttributeError:
    """Return the error for `name`, which TensorFlow 1 may have in `module` (such as `tf.nn`)."""
    inner = module.replace("tf", "capstan", 1)
    return AttributeError(
        f"module {inner!r} has no attribute {name!r}: this part of TensorFlow 1 is not here"
    )
