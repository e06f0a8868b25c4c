"""The errors that answers of an API server raise, and how long an answer asks a client to wait."""

import json
from datetime import UTC, datetime

import pytest

from capstan_operator.kube import errors

NOW = datetime(2026, 11, 2, 10, 0, tzinfo=UTC)


def retry_after(header: str | None, body: bytes = b"") -> float:
    headers = {} if header is None else {"Retry-After": header}
    return errors.of_answer("get /x", 429, headers, body, NOW).retry_after


@pytest.mark.parametrize(
    "header, seconds",
    [
        (None, 0),
        ("7", 7),
        ("86400", 60),
        ("Sat, 21 Nov 2099 18:00:00 GMT", 60),
        ("Mon, 02 Nov 2026 10:00:30 GMT", 30),
        ("Mon, 02 Nov 2026 09:00:00 GMT", 0),
        ("soon", 0),
    ],
)
def test_retry_after_holds_seconds_or_a_date(header: str | None, seconds: float) -> None:
    assert retry_after(header) == seconds


@pytest.mark.parametrize("header, seconds", [(None, 3), ("7", 7), ("soon", 3)])
def test_a_status_may_name_the_seconds_to_wait(header: str | None, seconds: float) -> None:
    body = b'{"kind": "Status", "details": {"retryAfterSeconds": 3}}'
    assert retry_after(header, body) == seconds


@pytest.mark.parametrize("body", [b"\xff\xfe", b"{", b"[]", b'{"kind": "Status", "details": 1}'])
def test_an_answer_with_any_body_becomes_an_error(body: bytes) -> None:
    assert errors.of_answer("get /x", 500, {}, body, NOW).details == {}


WRONG_VALUE = {
    "causes": [{"reason": "FieldValueInvalid", "field": "spec.hostname", "message": "?"}]
}
BY_POLICY = {"causes": [{"message": "ValidatingAdmissionPolicy 'p' denied request: not here"}]}
WEBHOOK = 'admission webhook "x.y" denied the request: not here'


@pytest.mark.parametrize(
    "status, message, details, kind",
    [
        (400, "strict decoding error: unknown field", {}, errors.Refused),
        (422, "Pod is invalid", WRONG_VALUE, errors.Refused),
        (422, "pods is forbidden", BY_POLICY, errors.Forbidden),
        (400, WEBHOOK, {}, errors.Forbidden),
        (403, "exceeded quota", {}, errors.Forbidden),
    ],
)
def test_a_denial_of_admission_is_forbidden_with_any_status(
    status: int, message: str, details: dict[str, object], kind: type[errors.ApiError]
) -> None:
    body = {"kind": "Status", "message": message, "details": details}
    error = errors.of_answer("create /x", status, {}, json.dumps(body).encode(), NOW)
    assert type(error) is kind


def test_an_old_crd_is_named_as_the_cause() -> None:
    message = (
        "failed to create typed patch object (/a; capstan.dev/v1alpha1, Kind=TrainingJob): errors:"
        '\n  .status.conditions[type="ClusterReady"].observedGeneration: field not declared in '
        "schema\n"
        "  .status.selector: field not declared in schema"
    )
    body = json.dumps({"kind": "Status", "message": message}).encode()
    error = errors.of_answer("patch /x", 500, {}, body, NOW)
    assert isinstance(error, errors.Unavailable)
    assert str(error) == (
        'patch /x: 500: the CustomResourceDefinition lacks .status.conditions[type="ClusterReady"]'
        ".observedGeneration, .status.selector, because it is older than this operator: apply the"
        " trainingjobs.capstan.dev.yaml of the operator's version"
    )


@pytest.mark.parametrize(
    "message, shown",
    [
        ("Unauthorized", "does not accept these credentials: log in again"),
        ("token has expired", "token has expired"),
    ],
)
def test_credentials_that_are_not_accepted_have_advice_unless_the_answer_says_more(
    message: str, shown: str
) -> None:
    body = {"kind": "Status", "reason": "Unauthorized", "message": message}
    error = errors.of_answer("list /x", 401, {}, json.dumps(body).encode(), NOW)
    assert shown in str(error)
