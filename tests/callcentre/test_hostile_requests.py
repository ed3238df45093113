"""Requests that no browser sends, to pages outside the API: always an answer of ours, never a 500."""

import pytest
from django.test import Client

from tests.backoffice import superuser

pytestmark = pytest.mark.usefixtures("plain_static")

# Spellings that http.cookies reads as NUL.
NUL = r'"\000aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"'


@pytest.mark.django_db
@pytest.mark.parametrize(
    "path",
    [
        "/admin/%00",
        "/admin/login/?next=%00",
        "/admin/?a%00=1",
        "/ratings/%00",
        "/health/live?x=%00",
        "/x%00",
        "/admin/autocomplete/?term=%00",
    ],
)
def test_an_address_with_nul_is_400(path):
    assert Client().get(path).status_code == 400


@pytest.mark.django_db
@pytest.mark.parametrize("cookie", ["sessionid", "csrftoken", "django_language"])
@pytest.mark.parametrize("path", ["/admin/login/", "/api/docs", "/"])
def test_a_cookie_with_nul_is_400(path, cookie):
    assert Client().get(path, headers={"cookie": f"{cookie}={NUL}"}).status_code == 400


@pytest.mark.django_db
def test_a_per_cent_sign_before_two_noughts_is_no_nul():
    assert superuser().get("/admin/callcentre/user/?q=100%2500").status_code == 200


# Codecs that do not give text, unknown ones, and one that makes half a surrogate pair of ASCII.
CHARSETS = ["hex", "rot13", "undefined", "idna", "utf-16", "unicode_escape", "utf-7"]


@pytest.mark.trial
@pytest.mark.parametrize("charset", CHARSETS)
def test_no_charset_of_a_client_causes_a_failure(charset, servers):
    """Django decodes the query with it before any middleware runs."""
    server, kind = servers[0], f"text/html; charset={charset}"

    answers = [
        server.request("GET", "/health/live?a=%2B2AA-", Content_Type=kind),
        server.request("GET", "/ratings/nothing?a=%2B2AA-", Content_Type=kind),
        server.request("POST", "/api/outbounds?a=%2B2AA-", {"name": 1}, Content_Type=kind),
    ]

    assert [answer.status for answer in answers] == [200, 404, 401]


def test_too_many_parameters_with_a_charset_cause_no_failure(servers):
    query = "&".join("a" * 10_001)

    answer = servers[0].request("GET", f"/api/outbounds?{query}", Content_Type="text/html; charset=utf-8")

    assert answer.status == 401
