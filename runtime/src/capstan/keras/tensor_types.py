"""`python.keras.utils.tf_utils`: the classes of values that stand for tensors in layers."""


def register_symbolic_tensor_type(cls: type) -> None:
    """Do nothing, so that libraries can be imported which call this for their classes.

    In TensorFlow, a layer may return a value of a registered class. Layers of Capstan return only
    tensors.
    """
