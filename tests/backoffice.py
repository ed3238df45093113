"""A client of the admin that works like a person: log in, open a page, fill in its form, send it."""

from html.parser import HTMLParser
from typing import Any

from django.apps import apps
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.test import Client
from django.urls import reverse

from callcentre.passwords import CONFIRMED_AT
from tests.callcentre.factories import UserFactory


class BackOffice(Client):
    """A browser without scripts, logged in as one user."""

    def page(self, path: str, **query: Any) -> str:
        """Return the page at this address. Fail if there is none."""
        response = self.get(path, query)
        assert response.status_code == 200, (path, response.status_code)
        return response.content.decode()

    def values(self, path: str, **query: Any) -> dict[str, Any]:
        """Return the values that the template of this page gets."""
        response: Any = self.get(path, query or None)
        assert response.status_code == 200, (path, response.status_code)
        values: dict[str, Any] = response.context_data
        return values

    def submit(self, path: str, *, expected: Any = 302, **changes: Any) -> Any:
        """Open the page, change these inputs of its form, and send it. None removes an input, like an unticked box.

        `expected` is a status, or a set of them.
        """
        data = {**inputs_of(self.page(path)), **changes}
        response = self.post(path, {name: value for name, value in data.items() if value is not None})
        allowed = expected if isinstance(expected, set) else {expected}
        assert response.status_code in allowed, (path, response.status_code, errors_of(response))
        return response

    def act(self, path: str, action: str, *objects: Any, **values: Any) -> Any:
        """Select these objects in a list and apply the action. `values` are the input of its page."""
        data = {"action": action, "_selected_action": [obj.pk for obj in objects], "select_across": "0", **values}
        return self.post(path, data | ({} if values else {"index": "0"}))


def superuser() -> BackOffice:
    # Fill the caches of a process, so that query counts do not depend on the order of tests.
    ContentType.objects.get_for_models(*apps.get_models())
    client = BackOffice()
    client.force_login(UserFactory(admin=True))
    return client


def staff(*permissions: str) -> BackOffice:
    """Return the client of a user with these permissions only, such as "view_campaign"."""
    user = UserFactory(staff=True)
    found = Permission.objects.filter(codename__in=permissions)
    assert found.count() == len(permissions), permissions
    user.user_permissions.set(found)
    client = BackOffice()
    client.force_login(user)
    return client


def after_a_while(client: BackOffice) -> BackOffice:
    """Let the last confirmation of the password be long ago."""
    session = client.session
    session[CONFIRMED_AT] = 0
    session.save()
    return client


def page_of(row: Any, page: str = "change") -> str:
    """Return the address of a page of a row."""
    return reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_{page}", args=[row.pk])


def shown(page: str, *rows: Any) -> list[Any]:
    """Return the rows that a list shows, of these."""
    return [row for row in rows if page_of(row) in page]


def messages_of(response: Any) -> list[str]:
    """Return the messages after an action, from the page that follows it."""
    return [str(message) for message in response.wsgi_request._messages]


def errors_of(response: Any) -> dict[str, list[str]]:
    """Return input -> its errors on the page; "" stands for the form and its inlines."""
    context = response.context or {}
    form = context["adminform"].form if "adminform" in context else context.get("form")
    found: dict[str, list[str]] = {}
    for name, errors in (form.errors if form else {}).items():
        found["" if name == "__all__" else name] = list(errors)
    for inline in context.get("inline_admin_formsets") or ():
        for errors in inline.formset.errors:
            found.setdefault("", []).extend(str(error) for several in errors.values() for error in several)
        found.setdefault("", []).extend(inline.formset.non_form_errors())
    return {name: errors for name, errors in found.items() if errors}


class _Inputs(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.values: dict[str, Any] = {}
        self._select: tuple[str, bool] | None = None
        self._textarea = ""
        # The names in the present form. Another form may have the same names.
        self._names: set[str] = set()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        name, value = given.get("name") or "", given.get("value") or ""
        if tag == "form":
            self._names = set()
        elif tag == "select":
            self._select = (name, "multiple" in given)
            if self._select[1] and name:
                self.values.setdefault(name, [])
        elif tag == "option" and self._select and self._select[0] and "selected" in given:
            self._add(self._select[0], value, self._select[1])
        elif tag == "textarea" and name:
            self._textarea = name
            self.values[name] = ""
        elif tag == "input" and name and "disabled" not in given:
            kind = given.get("type")
            if kind in ("checkbox", "radio"):
                if "checked" in given:
                    self._add(name, value or "on", name in self.values)
            elif kind not in ("submit", "button", "image", "file"):
                self._add(name, value, name in self._names)
                self._names.add(name)

    def handle_data(self, data: str) -> None:
        if self._textarea:
            self.values[self._textarea] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "select":
            self._select = None
        elif tag == "textarea":
            # The browser drops the line feed that templates put first.
            self.values[self._textarea] = self.values[self._textarea].removeprefix("\r").removeprefix("\n")
            self._textarea = ""

    def _add(self, name: str, value: str, is_list: bool) -> None:
        if is_list:
            known = self.values.get(name, [])
            self.values[name] = [*(known if isinstance(known, list) else [known]), value]
        else:
            self.values[name] = value


def inputs_of(page: str) -> dict[str, Any]:
    """Return name -> value of the unchanged forms of a page."""
    parser = _Inputs()
    parser.feed(page)
    ours = {"csrfmiddlewaretoken", "language", "q", "_save", "_continue", "_addanother"}
    return {name: value for name, value in parser.values.items() if name not in ours and "__prefix__" not in name}
