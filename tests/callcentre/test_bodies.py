"""Bodies of requests: the bytes read by sender and address, and pages that accept files."""

from importlib import import_module
from typing import Any

import pytest
from django import forms
from django.conf import settings as configured
from django.contrib import admin
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError
from django.test import Client
from django.urls import get_resolver, reverse

from callcentre.api.authentication import KNOWN
from callcentre.core.errors import ErrorCode
from callcentre.models import ApiUser, Lockout, User
from callcentre.web import bodies
from callcentre.web.bodies import FIELDS_BYTES, MB, OPEN_FORM_BYTES, allowance, file_forms
from callcentre.web.front import BODY_FAULT
from tests.backoffice import BackOffice, staff, superuser
from tests.callcentre.test_abuse import Unreadable
from tests.callcentre.test_api import codes

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]
IMPORT = "/admin/campaigns/recordimport/add/"
UPLOAD = configured.MAX_UPLOAD_MB * MB


def environ(path: str, cookies: Any = None, **more: Any) -> dict[str, Any]:
    """Return a POST as the front describes it."""
    given: dict[str, Any] = {"PATH_INFO": path, "REMOTE_ADDR": "192.0.2.7", "REQUEST_METHOD": "POST", **more}
    if cookies:
        given["HTTP_COOKIE"] = "; ".join(f"{name}={morsel.value}" for name, morsel in cookies.items())
    return given


SMALL = ["/admin/login/", "/admin/language", "/ratings/x", "/health/live", "/no/such", "/"]
NONE = [IMPORT, "/admin/", "/admin/no/such", "/admin/logout/", "/api", "/api/", "/api/ping"]


def test_a_small_form_is_read_from_strangers_and_none_on_pages_that_need_a_log_in():
    found = {path: allowance(environ(path)) for path in (*SMALL, *NONE)}

    assert found == dict.fromkeys(SMALL, OPEN_FORM_BYTES) | dict.fromkeys(NONE, 0)


def test_forms_are_read_from_back_office_users_and_files_from_those_who_may_send_them():
    clients = superuser(), staff("add_recordimport"), staff("view_recordimport", "change_campaign")
    with_file = configured.MAX_IMPORT_MB * MB + FIELDS_BYTES

    def found(path):
        return [allowance(environ(path, client.cookies)) for client in clients]

    assert found("/admin/campaigns/campaign/add/") == [UPLOAD] * 3
    assert found(IMPORT) == [with_file, with_file, UPLOAD]
    User.objects.update(is_active=False)
    assert found("/admin/") == [0] * 3


@pytest.mark.parametrize(
    "cookie", ["", "forged", "f" * 32, '"', "a\0b", '"abcdefgh\\000"', "\xff" * 32, "a'; DROP TABLE x", "=;="]
)
def test_a_forged_session_is_ignored(cookie):
    given = f"{configured.SESSION_COOKIE_NAME}={cookie}"

    assert allowance(environ("/admin/", HTTP_COOKIE=given)) == 0


def test_the_allowance_of_a_session_changes_nothing(settings):
    """Django renews a session of an old key during the request, and only then."""
    client = superuser()
    key = client.cookies[settings.SESSION_COOKIE_NAME].value
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "x" * 60, [settings.SECRET_KEY]

    assert allowance(environ("/admin/", client.cookies)) > 0

    assert import_module(settings.SESSION_ENGINE).SessionStore().exists(key)
    assert client.get("/admin/password_change/").status_code == 200


@pytest.mark.parametrize("change", [{"is_active": False}, {"allowed_networks": ["10.0.0.0/8"]}])
def test_a_body_is_read_from_an_api_user_with_a_right_credential(change, api):
    def found(credential):
        return allowance(environ("/api/outbounds", HTTP_AUTHORIZATION=credential))

    assert found(api.defaults["HTTP_AUTHORIZATION"]) == UPLOAD
    assert {found(wrong) for wrong in ("", "Basic", "Basic x", "Basic YTpi", "Bearer abc")} == {0}
    ApiUser.objects.update(**change)
    assert found(api.defaults["HTTP_AUTHORIZATION"]) == 0


def test_the_allowance_of_a_credential_counts_nothing(monkeypatch):
    counted: list[str] = []
    monkeypatch.setattr("callcentre.rate_limits.count_failure", lambda *failure: counted.append("failure"))
    monkeypatch.setattr("callcentre.rate_limits.rates.admit", lambda *request: counted.append("request"))

    allowance(environ("/api/outbounds", HTTP_AUTHORIZATION="Basic YTpi"))

    assert (counted, Lockout.objects.count()) == ([], 0)


def test_a_credential_is_looked_up_once(api, django_assert_num_queries):
    asked = environ("/api/ping", HTTP_AUTHORIZATION=api.defaults["HTTP_AUTHORIZATION"])
    assert api.get("/api/ping").status_code == 204
    with django_assert_num_queries(1):
        allowance(asked)

    with django_assert_num_queries(0):
        assert api.get("/api/ping", **{KNOWN: asked[KNOWN]}).status_code == 204


def test_a_header_cannot_set_the_known_credential(anonymous):
    assert anonymous.get("/api/ping", headers={KNOWN: "x", "callcentre-known": "x"}).status_code == 401


# In the service


def sent(client: Client, path: str, length: int, content_type: str = "multipart/form-data; boundary=x") -> Any:
    """Return the answer to a body of this length that fails when it is read."""
    unreadable: Any = Unreadable()
    return client.generic(
        "POST", path, b"", CONTENT_TYPE=content_type, CONTENT_LENGTH=str(length), **{"wsgi.input": unreadable}
    )


@pytest.mark.parametrize("path", ["/admin/login/", "/admin/language", "/ratings/x", "/health/live", "/metrics"])
def test_a_strangers_too_large_form_is_413_before_it_is_read(path, client):
    assert sent(client, path, OPEN_FORM_BYTES + 1).status_code == 413


@pytest.mark.parametrize("path", [IMPORT, "/admin/campaigns/campaign/add/", "/admin/logout/"])
def test_an_unknown_senders_form_leads_to_the_log_in_before_it_is_read(path, client):
    response = sent(client, path, 400_000_000)

    assert (response.status_code, response.headers["Location"]) == (302, f"/admin/login/?next={path}")


def test_a_users_too_large_form_is_413_before_it_is_read():
    response = sent(superuser(), IMPORT, configured.MAX_IMPORT_MB * MB + FIELDS_BYTES + 1)

    assert response.status_code == 413
    assert f"larger than {configured.MAX_IMPORT_MB} MB" in response.content.decode()


def test_a_page_without_file_input_stores_no_file(client):
    of_campaigns = reverse("admin:campaigns_campaign_add")
    for sender, path in ((client, "/admin/login/"), (client, "/admin/language"), (superuser(), of_campaigns)):
        response = sender.post(path, {"file": SimpleUploadedFile("a.txt", b"x" * 100)})
        assert response.status_code == 400, path


def test_every_form_that_takes_a_file_is_known_and_exists():
    expected = set()
    for model, model_admin in admin.site._registry.items():
        if any(isinstance(field, forms.FileField) for field in model_admin.form.declared_fields.values()):
            name = f"{model._meta.app_label}_{model._meta.model_name}"
            expected |= {f"admin:{name}_add", f"admin:{name}_change"}
    known = {
        f"admin:{name}" for name in get_resolver().namespace_dict["admin"][1].reverse_dict if isinstance(name, str)
    }

    assert expected
    assert expected <= set(file_forms()) <= known


@pytest.mark.parametrize(
    ("status", "code"),
    [(408, ErrorCode.BODY_TOO_SLOW), (413, ErrorCode.TOO_LARGE), (503, ErrorCode.UNAVAILABLE)],
)
def test_the_api_and_pages_say_why_a_body_was_not_read(status, code, api, client):
    fault: dict[str, Any] = {"callcentre.body_fault": status}

    response = api.post("/api/outbound_groups", {"name": "x"}, **fault)
    page = client.post("/admin/login/", {"a": "b"}, **fault)

    assert (response.status_code, codes(response)) == (status, {("", code.number)})
    assert (page.status_code, "<h1>This" in page.content.decode()) == (status, True)


@pytest.mark.parametrize(("name", "path"), [("look_up", "/api/customers"), ("_user_of", "/admin/tickets/ticket/add/")])
def test_a_body_whose_sender_the_database_did_not_tell_is_not_missed_later(name, path, monkeypatch):
    def fall_silent(*args: Any) -> None:
        raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(bodies, name, fall_silent)
    cookie = f"{configured.SESSION_COOKIE_NAME}=abc"
    environ = {"PATH_INFO": path, "REQUEST_METHOD": "POST", "HTTP_COOKIE": cookie, "CONTENT_LENGTH": "9"}

    assert (allowance(environ), environ.get(BODY_FAULT)) == (0, 503)


@pytest.mark.parametrize("site", ["cross-site", "same-site", "", "nonsense"])
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_page_of_another_site_cannot_write_through_the_api(site, method, api):
    response = api.generic(method, "/api/outbound_groups", b"", HTTP_SEC_FETCH_SITE=site)

    assert (response.status_code, codes(response)) == (403, {("", ErrorCode.CROSS_SITE.number)})


def test_our_own_page_can_write_and_another_site_may_link_to_ours(client, api):
    person: BackOffice = superuser()
    for site in ("same-origin", "none"):
        assert api.post("/api/outbound_groups", {"name": site}, HTTP_SEC_FETCH_SITE=site).status_code == 201

    assert client.get("/admin/", HTTP_SEC_FETCH_SITE="cross-site").status_code == 302
    assert api.get("/api/ping", HTTP_SEC_FETCH_SITE="cross-site").status_code == 204
    assert person.post("/admin/logout/", HTTP_SEC_FETCH_SITE="same-site").status_code == 403
    assert person.get("/admin/password_change/").status_code == 200
    # A customer can rate by a link opened from any site.
    assert client.post("/ratings/x", HTTP_SEC_FETCH_SITE="cross-site").status_code == 404


def test_a_body_without_a_type_is_415_and_a_request_without_a_body_needs_none(api):
    for method, path in (
        *(("POST", path) for path in ("outbound_groups", "agents/a/login", "temporary_files?filename=a")),
        *(("PUT", "outbounds/DEMO1"), ("DELETE", "webhooks/1")),
    ):
        response = api.generic(method, f"/api/{path}", b'{"name": "x"}', content_type="")
        assert (response.status_code, codes(response)) == (415, {("", ErrorCode.NO_MEDIA_TYPE.number)}), path
    unknown = api.generic("POST", "/api/agents/nobody/login", b"", content_type="")
    assert codes(unknown) == {("", ErrorCode.AGENT_NOT_FOUND.number)}
