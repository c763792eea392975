"""Answers become errors of the right type, and the tree at the top of the file is the tree."""

import inspect
import json
import re

import pytest

from mooring.kube import errors
from mooring.kube.answers import error_from_answer, warnings_in
from mooring.kube.errors import KubeError

ANSWERS = [
    (400, "BadRequest", errors.BadRequest),
    (401, "Unauthorized", errors.Unauthorized),
    (403, "Forbidden", errors.Forbidden),
    (404, "NotFound", errors.NotFound),
    (405, "MethodNotAllowed", errors.MethodNotAllowed),
    (409, "Conflict", errors.Conflict),
    (409, "AlreadyExists", errors.AlreadyExists),
    (410, "Expired", errors.Gone),
    (410, "Gone", errors.Gone),
    (413, "RequestEntityTooLarge", errors.TooLarge),
    (415, "UnsupportedMediaType", errors.UnsupportedType),
    (418, "Teapot", errors.ApiError),
    (422, "Invalid", errors.Invalid),
    (429, "TooManyRequests", errors.TooManyRequests),
    (500, "InternalError", errors.ServerError),
    (504, "Timeout", errors.ServerError),
]


def refused(code, reason, *, verb="GET", **more):
    body = json.dumps({"kind": "Status", "code": code, "reason": reason, "message": "why", **more}).encode()
    return error_from_answer(code=code, body=body, verb=verb, path="/x")


@pytest.mark.parametrize(("code", "reason", "kind"), ANSWERS)
def test_an_answer_has_its_type(code, reason, kind):
    error = refused(code, reason)
    assert type(error) is kind
    assert (error.code, error.reason, error.message) == (code, reason, "why")
    assert str(error) == f"GET /x: {code} {reason}: why"


@pytest.mark.parametrize("body", [b"", b"[]", b'"x"', b'{"details": 7}', b"<html>", b"\xff", b'{"reason": null}'])
def test_an_answer_without_a_status_is_still_an_error(body):
    error = error_from_answer(code=404, body=body, verb="GET", path="/x")
    assert type(error) is errors.NotFound
    assert error.reason == "NotFound"


@pytest.mark.parametrize("reason", ["two words", "", "lower", "X" * 100])
def test_a_reason_is_always_fit_for_a_condition(reason):
    assert refused(500, reason).reason == "InternalError"


def test_the_wait_is_read_from_either_place():
    assert refused(429, "TooManyRequests", details={"retryAfterSeconds": 4}).retry_after == 4
    for header, seconds in {"7": 7, "Wed, 21 Oct 2026 07:28:00 GMT": None, "-1": None, "": None}.items():
        error = error_from_answer(code=429, body=b"", verb="GET", path="/", retry_after=header)
        assert error.retry_after == seconds


def test_only_writes_that_may_have_happened_are_in_doubt():
    assert refused(500, "InternalError", verb="PATCH").outcome_unknown
    assert "may have been done" in str(refused(500, "InternalError", verb="PATCH"))
    assert not refused(500, "InternalError", verb="GET").outcome_unknown
    assert not refused(409, "Conflict", verb="PUT").outcome_unknown


def test_causes_of_any_form_are_survived():
    for causes in (None, 7, [], [7, None], [{}], [{"field": 1, "message": None}]):
        str(refused(422, "Invalid", details={"causes": causes}))


def test_the_drawn_tree_is_the_tree():
    drawn = set(re.findall(r"^ *[│ ]*[├└]── (\w+)", errors.__doc__, re.MULTILINE)) | {"KubeError"}
    kinds = {kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, KubeError)}
    assert {kind.__name__ for kind in kinds} == drawn
    assert all(re.fullmatch(r"[A-Z][A-Za-z]+", kind.reason) for kind in kinds)


def test_warnings_come_one_by_one_or_together():
    headers = [
        '299 - "first, \\"quoted\\" and \\\\"',
        '299 agent "second" "Tue, 17 Nov 2026 18:00:00 GMT", 299 - "third"',
        "110 - x",
    ]
    assert warnings_in(headers) == ['first, "quoted" and \\', "second", "third"]
    assert warnings_in(['199 - "of another sort"']) == []
