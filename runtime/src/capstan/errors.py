"""TensorFlow's errors. Steps, sessions and servers raise them (python/framework/errors_impl.py).

    OpError                            has .code .message .op .node_def
    |
    |   the caller must change something
    |-- InvalidArgumentError       3   bad values, shapes, names or devices
    |-- NotFoundError              5   no such op, kernel, node, file or key
    |-- AlreadyExistsError         6
    |-- PermissionDeniedError      7
    |-- FailedPreconditionError    9   an uninitialised variable, a missing table
    |-- OutOfRangeError           11   the input has ended
    |-- UnimplementedError        12
    |-- UnauthenticatedError      16
    |
    |   a task or the network failed: create a new session and retry (MonitoredSession does)
    |-- AbortedError              10   a task was restarted, or the session no longer exists
    |-- UnavailableError          14   a task cannot be reached
    |
    |   a limit was reached, or a client ended the step
    |-- CancelledError             1
    |-- DeadlineExceededError      4
    |-- ResourceExhaustedError     8
    |
    |   a fault of this software or of the machine
    |-- UnknownError               2
    |-- InternalError             13
    `-- DataLossError             15   a damaged checkpoint or record

The numbers are gRPC's status codes. Tasks send them to each other, so an error has the same class
in every process. Errors that are found while a graph is built are Python's own TypeError,
ValueError and KeyError.
"""

import errno
import textwrap
from typing import Any, ClassVar, Final

OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16


class OpError(Exception):
    """The error of a failed operation.

    `node_def` and `op` are None if no node failed, or if the failed node is unknown. If a node
    failed, the message names the node as `{{node x}}`. `str(error)` is the message and, if `op` is
    known, the lines of the program that created `op`. If `op` is in a gradient, the lines that
    created the operation with this gradient follow.
    """

    code: ClassVar[int] = UNKNOWN

    def __init__(self, node_def: Any, op: Any, message: str, error_code: int | None = None) -> None:
        super().__init__(message)
        self._node_def = node_def
        self._op = op
        self._error_code = self.code if error_code is None else error_code

    @property
    def message(self) -> str:
        """The description of the error."""
        return str(self.args[0])

    @property
    def error_code(self) -> int:
        """The code of the error, one of this module's constants."""
        return self._error_code

    @property
    def node_def(self) -> Any:
        """The NodeDef of the node that failed, or None."""
        return self._node_def

    @property
    def op(self) -> Any:
        """The `tf.Operation` that failed, or None if the caller did not create that operation."""
        return self._op

    def __reduce__(self) -> Any:
        # An Operation holds its graph. Neither can be pickled, so a copy lacks the node and the op.
        if type(self) is OpError:
            return OpError, (None, None, self.message, self._error_code)
        return type(self), (None, None, self.message)

    def __str__(self) -> str:
        original = getattr(self._op, "_original_op", None)
        created = _creation("'{}' was created here:", self._op)
        return self.message + created + _creation("It is in the gradient of '{}':", original)


def _creation(title: str, op: Any) -> str:
    """Return the lines of the program that created `op`, below a title that names `op`.

    All lines are indented, so that the message stays the last line of a log that is not.
    """
    origin = getattr(op, "traceback", None)
    if not origin:
        return ""
    calls = textwrap.indent("".join(origin.format()), "  ").rstrip()
    return f"\n  {title.format(op.name)}\n{calls}"


class _CodedError(OpError):
    """An error whose class determines its code."""

    def __init__(self, node_def: Any, op: Any, message: str) -> None:
        super().__init__(node_def, op, message)


class CancelledError(_CodedError):
    code = CANCELLED


class UnknownError(OpError):
    code = UNKNOWN

    def __init__(self, node_def: Any, op: Any, message: str, error_code: int = UNKNOWN) -> None:
        super().__init__(node_def, op, message, error_code)


class InvalidArgumentError(_CodedError):
    code = INVALID_ARGUMENT


class DeadlineExceededError(_CodedError):
    code = DEADLINE_EXCEEDED


class NotFoundError(_CodedError):
    code = NOT_FOUND


class AlreadyExistsError(_CodedError):
    code = ALREADY_EXISTS


class PermissionDeniedError(_CodedError):
    code = PERMISSION_DENIED


class ResourceExhaustedError(_CodedError):
    code = RESOURCE_EXHAUSTED


class FailedPreconditionError(_CodedError):
    code = FAILED_PRECONDITION


class AbortedError(_CodedError):
    code = ABORTED


class OutOfRangeError(_CodedError):
    code = OUT_OF_RANGE


class UnimplementedError(_CodedError):
    code = UNIMPLEMENTED


class InternalError(_CodedError):
    code = INTERNAL


class UnavailableError(_CodedError):
    code = UNAVAILABLE


class DataLossError(_CodedError):
    code = DATA_LOSS


class UnauthenticatedError(_CodedError):
    code = UNAUTHENTICATED


_BY_CODE: dict[int, type[OpError]] = {
    kind.code: kind
    for kind in (
        CancelledError,
        UnknownError,
        InvalidArgumentError,
        DeadlineExceededError,
        NotFoundError,
        AlreadyExistsError,
        PermissionDeniedError,
        ResourceExhaustedError,
        FailedPreconditionError,
        AbortedError,
        OutOfRangeError,
        UnimplementedError,
        InternalError,
        UnavailableError,
        DataLossError,
        UnauthenticatedError,
    )
}


def exception_type_from_error_code(error_code: int) -> type[OpError]:
    """Return the error class for a code between 1 and 16. Any other code raises KeyError."""
    return _BY_CODE[error_code]


def error_code_from_exception_type(cls: type[OpError]) -> int:
    """Return the code of an error class."""
    return cls.code


def from_code(code: int, message: str, node_def: Any = None, op: Any = None) -> OpError:
    """Return the error for a code. An unknown code gives an UnknownError with that code.

    >>> from_code(5, "no such file")
    NotFoundError('no such file')
    >>> from_code(99, "?").error_code
    99
    """
    kind = _BY_CODE.get(code)
    if kind is None:
        return UnknownError(node_def, op, message, code)
    return kind(node_def, op, message)


_EXHAUSTED: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})

_NO_GPU_MEMORY: Final = (
    *("cudaErrorMemoryAllocation", "CUDA_ERROR_OUT_OF_MEMORY"),
    *("CUBLAS_STATUS_ALLOC_FAILED", "CUSOLVER_STATUS_ALLOC_FAILED"),
)
"""How the errors of CUDA's libraries begin if they have too little memory. CuPy raises them as
RuntimeError."""


def from_exception(fault: BaseException) -> OpError:
    """Return the error of a step that failed with `fault`. An OpError is returned unchanged.

    >>> from_exception(MemoryError("2 GiB"))
    ResourceExhaustedError('There is not enough memory: 2 GiB')
    >>> from_exception(RuntimeError("CUBLAS_STATUS_ALLOC_FAILED"))
    ResourceExhaustedError('There is not enough memory: CUBLAS_STATUS_ALLOC_FAILED')
    >>> from_exception(KeyError("x"))
    InternalError("KeyError: 'x'")
    """
    if isinstance(fault, OpError):
        return fault
    if isinstance(fault, MemoryError) or str(fault).startswith(_NO_GPU_MEMORY):
        return ResourceExhaustedError(None, None, f"There is not enough memory: {fault}")
    if isinstance(fault, OSError):
        kind = ResourceExhaustedError if fault.errno in _EXHAUSTED else UnavailableError
        return kind(None, None, f"{type(fault).__name__}: {fault}")
    return InternalError(None, None, f"{type(fault).__name__}: {fault}")


def __getattr__(name: str) -> object:
    is_lacked = name == "raise_exception_on_not_ok_status"
    cause = (
        "Capstan lacks this part of TensorFlow 1"
        if is_lacked
        else "TensorFlow 1.15 has no such name"
    )
    raise AttributeError(f"module 'capstan.errors' has no attribute {name!r}: {cause}")
