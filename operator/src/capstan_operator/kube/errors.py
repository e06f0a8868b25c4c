"""What the Kubernetes API refused, sorted by what the caller can do about it.

ApiError
├── NotFound          404: it is gone, or the API does not serve such a thing
├── AlreadyExists     409: somebody has this name; look at whose it is
├── Conflict          409: it changed since it was read; read it again
├── Refused           400, 413, 422: what was sent is wrong, and will be as often as it is sent
├── Forbidden         401, 403, and what admission denies with another status: not allowed, by
│                     RBAC, an admission policy, a quota or a webhook, or a webhook could not be
│                     asked; and perhaps allowed later
├── TooManyRequests   429: later, after `retry_after`
└── Unavailable       5xx, or no answer at all: later; whether it was done is not known
"""

import email.utils
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from capstan_operator.errors import OperatorError
from capstan_operator.reconcile import words

LONGEST_RETRY_AFTER_SECONDS = 60.0
"""The longest wait that a server may ask for. A gateway that names a day must not stop a job."""

MAX_WORDS = 300
"""Characters of an answer that is no Kubernetes Status; a proxy's error page has thousands."""


class ApiError(OperatorError):
    """The API's answer to one request was no.

    `message` is what the API said; `str` adds which request it was. `status` is the HTTP status, 0
    without an answer. `reason` is the API's CamelCase word, `details` its `Status.details`.
    `retry_after` is in seconds, at most `LONGEST_RETRY_AFTER_SECONDS`; 0 if the API named no time.
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


class TooManyRequests(ApiError):
    pass


class Unavailable(ApiError):
    pass


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
    """Build the error for an answer with a status of 300 or more; `request` names what was asked.

    The body is a `metav1.Status` from an API server, and anything from what stands before it.
    """
    told = _status_document(body)
    reason = str(told.get("reason") or "")
    message = str(told.get("message") or "") or _words(body)
    details = told.get("details")
    if not isinstance(details, Mapping):
        details = {}
    kind = _BY_STATUS.get(status, Unavailable if status >= 500 else ApiError)
    if kind is Conflict and reason == "AlreadyExists":
        kind = AlreadyExists
    if kind in (Refused, Unavailable) and _is_denial(message, details):
        kind = Forbidden
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


def _is_denial(message: str, details: Mapping[str, Any]) -> bool:
    """Whether admission has refused, and not the API: an admission policy answers 422 unless it
    says otherwise, as for a wrong value, but names no field; a webhook answers what it likes.
    A webhook that cannot be reached is a 500, though nothing is wrong with the API server.
    """
    if "failed calling webhook" in message:
        return True
    if message.startswith("admission webhook "):
        return True
    causes = details.get("causes")
    if not isinstance(causes, list) or not causes:
        return False
    return not any(isinstance(one, Mapping) and "field" in one for one in causes)


def _status_document(body: bytes) -> Mapping[str, Any]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) and document.get("kind") == "Status" else {}


def _words(body: bytes) -> str:
    return words.shortened(" ".join(body.decode(errors="replace").split()), MAX_WORDS)


def _retry_after(header: str | None, details: Mapping[str, Any], now: datetime) -> float:
    """Read the header, which holds seconds or a date (RFC 9110), or else the Status."""
    said = details.get("retryAfterSeconds")
    seconds = float(said) if isinstance(said, int) and said > 0 else 0.0
    if header is None:
        return seconds
    if header.strip().isdecimal():
        return float(header)
    try:
        at = email.utils.parsedate_to_datetime(header)
    except ValueError:
        return seconds
    return max(0.0, at.timestamp() - now.timestamp())
