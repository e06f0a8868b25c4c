"""Errors of requests to the Kubernetes API, sorted by what the caller can do about them.

ApiError
├── NotFound          404: the object is gone, or the API server does not serve its kind
├── AlreadyExists     409: the name is taken by an object; find out by which
├── Conflict          409: the object has changed since it was read: read it again. Or, for a
│                     creation, another request was charged to the same quota: try again later
├── Refused           400, 413, 422: the request is wrong, and would be refused again
├── Forbidden         401, 403, and denials of admission with another status: not allowed by
│                     RBAC, an admission policy, a quota or a webhook, or a webhook could not be
│                     reached; perhaps allowed later
├── NamespaceEnds     403: the namespace is being deleted, so nothing can be created in it any more
├── TooManyRequests   429: try again after `retry_after`
└── Unavailable       5xx, or no answer of an API server: try again later. The request may have been
    │                 carried out
    └── OldDefinition 500: an applied object has fields that its CRD lacks. An administrator must
                      apply a newer CRD
"""

import email.utils
import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from capstan_operator.errors import OperatorError, Temporary
from capstan_operator.reconcile import words

LONGEST_RETRY_AFTER_SECONDS = 60.0
"""The longest wait that a server may ask for. A gateway that names a day must not stop a job."""

MAX_WORDS = 300
"""The most characters of an answer without a Kubernetes Status. A proxy's page has thousands."""


class ApiError(OperatorError):
    """A request has failed.

    `message` is the API server's; `str` adds the request. `status` is the HTTP status, or 0 if no
    answer came. `reason` and `details` come from the API's `Status` object. `retry_after` is in
    seconds, at most `LONGEST_RETRY_AFTER_SECONDS`; 0 if the API named no time.
    """

    def __init__(
        self,
        message: str,
        *,
        request: str,
        status: int,
        reason: str = "",
        details: Mapping[str, Any] | None = None,
        retry_after: float = 0.0,
    ) -> None:
        head = f"{request}: {status} {reason}".rstrip() if status else request
        super().__init__(f"{head}: {message}" if message else head)
        self.message = message
        self.status = status
        self.reason = reason
        self.details = details or {}
        self.retry_after = retry_after


class NotFound(ApiError):
    pass


class AlreadyExists(ApiError):
    pass


class Conflict(ApiError):
    pass


class Refused(ApiError):
    pass


class Forbidden(ApiError):
    pass


class NamespaceEnds(ApiError):
    pass


class TooManyRequests(ApiError, Temporary):
    pass


class Unavailable(ApiError, Temporary):
    pass


class OldDefinition(Unavailable):
    pass


_UNDECLARED = re.compile(r"(\.\S+): field not declared in schema")
_OLD_CRD = (
    "the CustomResourceDefinition lacks {}, because it is older than this operator: apply the"
    " trainingjobs.capstan.dev.yaml of the operator's version"
)
"""The message for fields of an applied object that the schema of the API server lacks. The server
answers 500 and names each field in a line."""

_NOT_ACCEPTED = (
    "the API server does not accept these credentials: log in again, or use another kubeconfig"
)
"""The message for an answer that says no more than `Unauthorized`."""

_NO_RIGHT = re.compile(r" cannot \w+ (resource|path) ")
"""Words of the answer of RBAC. A denial of a quota or of an admission policy has other words."""

_NAMESPACE_ENDS = "NamespaceTerminating"
"""The cause that an API server names if it refuses an object because its namespace is deleted."""

_BY_STATUS: Mapping[int, type[ApiError]] = {
    400: Refused,
    401: Forbidden,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    413: Refused,
    422: Refused,
    429: TooManyRequests,
}


def of_answer(
    request: str, status: int, headers: Mapping[str, str], body: bytes, now: datetime
) -> ApiError:
    """Build the error for an answer with a status of 300 or more. `request` names the request.

    An API server sends a `metav1.Status` as body. A proxy before it may send anything.
    """
    document = _status_document(body)
    reason = str(document.get("reason") or "")
    message = str(document.get("message") or "") or _words(body)
    if status == 401 and message in ("", reason):
        message = _NOT_ACCEPTED
    missing = _UNDECLARED.findall(message)
    if missing:
        message = _OLD_CRD.format(", ".join(missing))
    details = document.get("details")
    if not isinstance(details, Mapping):
        details = {}
    kind = _BY_STATUS.get(status, Unavailable if status >= 500 else ApiError)
    if kind is Conflict and reason == "AlreadyExists":
        kind = AlreadyExists
    if kind is Unavailable and missing:
        kind = OldDefinition
    if kind in (Refused, Unavailable) and _is_denial(message, details):
        kind = Forbidden
    if kind is Forbidden and _has_cause(details, _NAMESPACE_ENDS):
        kind = NamespaceEnds
    return kind(
        message,
        request=request,
        status=status,
        reason=reason,
        details=details,
        retry_after=min(
            _retry_after(headers.get("Retry-After"), details, now), LONGEST_RETRY_AFTER_SECONDS
        ),
    )


def lacks_right(status: int, body: bytes) -> bool:
    """Say whether an answer refuses a request because the user lacks a right.

    A quota, Pod Security and admission policies answer 403, too, but concern a single object.
    """
    if status != 403:
        return False
    return _NO_RIGHT.search(str(_status_document(body).get("message") or "")) is not None


def _is_denial(message: str, details: Mapping[str, Any]) -> bool:
    """Say whether admission has denied the request.

    An admission policy answers 422 by default, as for a wrong value, but names no field. A webhook
    answers with any status. A webhook that cannot be reached is a 500, although nothing is wrong
    with the API server.
    """
    if "failed calling webhook" in message:
        return True
    if message.startswith("admission webhook "):
        return True
    causes = details.get("causes")
    if not isinstance(causes, list) or not causes:
        return False
    return not any(isinstance(cause, Mapping) and "field" in cause for cause in causes)


def _has_cause(details: Mapping[str, Any], reason: str) -> bool:
    causes = details.get("causes")
    if not isinstance(causes, list):
        return False
    return any(isinstance(cause, Mapping) and cause.get("reason") == reason for cause in causes)


def _status_document(body: bytes) -> Mapping[str, Any]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) and document.get("kind") == "Status" else {}


def _words(body: bytes) -> str:
    return words.shortened(" ".join(body.decode(errors="replace").split()), MAX_WORDS)


def _retry_after(header: str | None, details: Mapping[str, Any], now: datetime) -> float:
    """Return the seconds to wait. The header holds seconds or a date (RFC 9110).

    Without a valid header, use the time in the details of the Status, or 0 if there is none.
    """
    retry_after = details.get("retryAfterSeconds")
    seconds = float(retry_after) if isinstance(retry_after, int) and retry_after > 0 else 0.0
    if header is None:
        return seconds
    if header.strip().isdecimal():
        return float(header)
    try:
        at = email.utils.parsedate_to_datetime(header)
    except ValueError:
        return seconds
    return max(0.0, at.timestamp() - now.timestamp())
