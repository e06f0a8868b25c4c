"""TensorFlow's errors: classes, codes, messages."""

import pickle
import re

import pytest

from capstan import errors

NAMES = {
    1: "CancelledError",
    2: "UnknownError",
    3: "InvalidArgumentError",
    4: "DeadlineExceededError",
    5: "NotFoundError",
    6: "AlreadyExistsError",
    7: "PermissionDeniedError",
    8: "ResourceExhaustedError",
    9: "FailedPreconditionError",
    10: "AbortedError",
    11: "OutOfRangeError",
    12: "UnimplementedError",
    13: "InternalError",
    14: "UnavailableError",
    15: "DataLossError",
    16: "UnauthenticatedError",
}


@pytest.mark.parametrize("code, name", NAMES.items())
def test_every_code_maps_to_its_class_and_back(code: int, name: str) -> None:
    kind = errors.exception_type_from_error_code(code)
    assert kind.__name__ == name
    assert kind is getattr(errors, name)
    assert errors.error_code_from_exception_type(kind) == code
    error = errors.from_code(code, "why")
    assert type(error) is kind
    assert (error.error_code, error.code, error.message, str(error)) == (code, code, "why", "why")
    assert isinstance(error, errors.OpError)


@pytest.mark.parametrize("code", range(1, 17))
def test_the_constant_of_a_code_is_named_after_its_class(code: int) -> None:
    words = [name for name, value in vars(errors).items() if name.isupper() and value == code]
    assert [word.replace("_", "").lower() + "error" for word in words] == [NAMES[code].lower()]


def test_the_docstring_lists_every_class_with_its_code() -> None:
    drawn = re.findall(r"-- (\w+Error) +(\d+)", errors.__doc__ or "")
    assert {int(code): name for name, code in drawn} == NAMES


def test_an_unknown_code_becomes_an_unknown_error_with_that_code() -> None:
    error = errors.from_code(99, "from the future")
    assert type(error) is errors.UnknownError
    assert error.error_code == 99


def test_an_error_holds_its_node_def_and_operation() -> None:
    error = errors.NotFoundError("the node", "the op", "gone")
    assert (error.node_def, error.op) == ("the node", "the op")
    assert errors.NotFoundError(None, None, "gone").op is None


@pytest.mark.parametrize("code", [2, 5, 99])
def test_an_error_survives_pickling_without_its_graph(code: int) -> None:
    error = errors.from_code(code, "why", node_def=object(), op=lambda: None)
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert (copy.message, copy.op) == ("why", None)


def test_a_bare_op_error_keeps_its_code() -> None:
    error = errors.OpError(None, None, "odd", errors.ABORTED)
    assert error.error_code == errors.ABORTED
    assert pickle.loads(pickle.dumps(error)).error_code == errors.ABORTED
