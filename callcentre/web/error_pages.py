"""The pages that a person sees instead of the requested page. Under /api the middleware turns them into JSON."""

import sys
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import REASON_NO_CSRF_COOKIE
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import get_language
from django.utils.translation import gettext as _now
from django.views.decorators.csrf import requires_csrf_token

from callcentre.core.errors import RETRY_AFTER_SECONDS, is_database_away
from callcentre.core.request_id import current_request_id

# Pages of customers, without a link to the admin.
PUBLIC = ("/ratings/", "/knowledge-base/")
# A policy for a page without files and scripts.
BARE = {
    "Content-Security-Policy": (
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; form-action 'none'; frame-ancestors 'none';"
        " base-uri 'none'"
    )
}


@requires_csrf_token
def refuse(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 403 with links that need no right: the overview, or a log-in as another person."""
    wanted = request.get_full_path() if request.method == "GET" else reverse("admin:index")
    context = {**admin.site.each_context(request), "title": _now("You may not do this"), "wanted": wanted}
    return render(request, "403.html", context, status=403)


@requires_csrf_token
def miss(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 404, with the view's explanation if it gave one."""
    said = exception.args[0] if exception.args else ""
    text = said if isinstance(said, str) and said else _now("The address is wrong, or what was here has been deleted.")
    return _page(request, 404, title=_now("There is no such page"), text=text)


@requires_csrf_token
def refuse_form(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answer 403 to a form without this session's token. Nothing was done; the page says how to repeat it.

    Usually the form was open while its user logged in or out in another tab.
    """
    is_login = request.path == reverse("admin:login")
    # The form still has the old token, so it must be opened again.
    form = request.get_full_path() if is_login else _within(request, request.headers.get("Referer"))
    if reason == REASON_NO_CSRF_COOKIE:
        title = _now("Your browser sent no cookies")
        text = (
            _now("They are sent by HTTPS only. Open this site by https:// and log in there.")
            if settings.CSRF_COOKIE_SECURE and not request.is_secure()
            else _now("Without them you cannot log in. Allow cookies for this site, then open the page again.")
        )
    elif "token" not in reason:
        title = _now("This form came from somewhere else")
        text = _now(
            "The address in your browser is not one that the service takes forms from, so nothing was done. If you"
            " followed no link from another site, tell the administrator of the service to look at"
            " CSRF_TRUSTED_ORIGINS and at the headers of the proxy."
        )
    elif not is_login:
        title = _now("Nothing was saved")
        text = _now(
            "Since the page was opened, a user logged in or out in this browser, perhaps in another tab. To keep what"
            " you typed, go back and copy it. Then open the page again and send it."
        )
    elif request.user.is_authenticated:
        title = _now("You are logged in already")
        text = _now("You logged in as %(username)s in another tab.") % {"username": request.user.get_username()}
        form = _within(request, request.POST.get("next"))
        return _page(request, 403, title=title, text=text, link=form, label=_now("Continue"))
    else:
        title = _now("The log-in page was out of date")
        text = _now("Since it was opened, a user logged in and out in this browser. Open it again and log in.")
    return _page(request, 403, title=title, text=text, link=form, label=_now("Open the page again"))


def misread(request: HttpRequest, exception: Exception) -> HttpResponse:
    text = _now("What your browser sent could not be read: perhaps it was too large, or the address is not ours.")
    return _bare_page(request, 400, title=_now("This was not understood"), text=text)


def refuse_characters(request: HttpRequest) -> HttpResponse:
    """Answer 400 to a form with a text that PostgreSQL cannot store. Nothing of it was saved."""
    text = _now("A text has a character that cannot be saved. Nothing was saved. Go back and type the text again.")
    return _lead_back(request, 400, _now("This was not understood"), text)


def refuse_body(request: HttpRequest, status: int, limit_mb: int = 0) -> HttpResponse:
    """Answer a write whose body was not read: it is too slow (408) or too large (413), or the disk is full (507).

    503: its sender could not be looked up.
    """
    if status == 503:
        return _database_away(request)
    if status == 408:
        title = _now("This took too long")
        text = _now("What you sent did not arrive in time. Check your connection, then send it again.")
    elif status == 507:
        title = _now("The server has no space left")
        text = _now("Nothing was saved. Tell the administrator of the service, then send it again.")
    else:
        title = _now("This is too large")
        text = _now("What you sent is larger than what is taken here.")
        if limit_mb:
            text = _now("What you sent is larger than %(limit)s MB, which is the most that is taken here.")
            text %= {"limit": limit_mb}
    return _bare_page(request, status, title=title, text=text)


def refuse_cross_site(request: HttpRequest) -> HttpResponse:
    text = _now("A page of another site tried to change something here in your name. Nothing was done.")
    return _bare_page(request, 403, title=_now("This came from another site"), text=text)


def refuse_busy(request: HttpRequest) -> HttpResponse:
    """Answer 409 to a request that waited too long for a row of another transaction. Nothing of it was done."""
    text = _now("Nothing was saved. Go back and try again in a moment.")
    return _lead_back(request, 409, _now("Another user is changing this"), text)


def _lead_back(request: HttpRequest, status: int, title: str, text: str) -> HttpResponse:
    link = _within(request, request.headers.get("Referer"))
    return _page(request, status, title=title, text=text, link=link, label=_now("Back"))


def refuse_during_upgrade(request: HttpRequest) -> HttpResponse:
    """Answer 503 to a page whose view is not in the database until the migrations are done."""
    text = _now("This page is back when the upgrade is done. Try again in a few minutes.")
    response = _page(request, 503, title=_now("The service is being upgraded"), text=text)
    response["Retry-After"] = "60"
    return response


def fail(request: HttpRequest) -> HttpResponse:
    """Answer 503 while the database is away, else 500."""
    if is_database_away(sys.exception()):
        return _database_away(request)
    text = _now("Something went wrong on our side, and has been written down. Try again in a few minutes.")
    return _bare_page(request, 500, title=_now("This did not work"), text=text, number=_number())


def _number() -> str:
    return _now("Number of this request: %(number)s") % {"number": current_request_id()}


def _database_away(request: HttpRequest) -> HttpResponse:
    title = _now("This does not work at the moment")
    text = _now("The service has no connection to its database; try again in a few seconds.")
    response = _bare_page(request, 503, title=title, text=text, number=_number())
    response["Retry-After"] = str(RETRY_AFTER_SECONDS)
    return response


def _within(request: HttpRequest, address: str | None) -> str:
    """Return the address that the browser named if it is ours, else the overview."""
    is_ours = url_has_allowed_host_and_scheme(address, {request.get_host()}, require_https=request.is_secure())
    return address if address and is_ours else reverse("admin:index")


def _page(request: HttpRequest, status: int, **values: Any) -> HttpResponse:
    """Render the page, with the menu for users who have one."""
    if not admin.site.has_permission(request):
        return _bare_page(request, status, **values)
    context = {"link": reverse("admin:index"), "label": _now("Overview"), **admin.site.each_context(request), **values}
    return render(request, "refused.html", context, status=status)


def _bare_page(request: HttpRequest, status: int, **values: Any) -> HttpResponse:
    """Answer without the session, the database and static files, since any of them may be broken."""
    link = "" if request.path_info.startswith(PUBLIC) else "/admin/"
    context = {"language": get_language() or "en", "link": link, "label": _now("Overview"), **values}
    return HttpResponse(render_to_string("bare.html", context), status=status, headers=BARE)
