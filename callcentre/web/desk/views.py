"""The page of the desk, its poll, and its actions."""

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, JsonResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _now

from callcentre.admin import user_of
from callcentre.admin.base import REFUSALS
from callcentre.web.desk.actions import ACTIONS
from callcentre.web.desk.calls import expect_topic
from callcentre.web.desk.home import agent_of
from callcentre.web.desk.phone import phone_act_view, phone_view
from callcentre.web.desk.polling import INCOMING, PARTS, Part, changed_parts
from callcentre.web.desk.refusals import sentences_of
from callcentre.web.desk.situation import Situation

JSON = "application/json"


def situation_of(request: HttpRequest) -> Situation:
    """Return the situation of the user's agent. Raises PermissionDenied for a user who is no agent."""
    agent = agent_of(user_of(request))
    if agent is None:
        raise PermissionDenied
    return Situation(request, agent)


def desk_view(request: HttpRequest) -> HttpResponse:
    """Answer with the page. Its script asks for changed parts once a second."""
    desk = situation_of(request)
    context: dict[str, Any] = {
        **admin.site.each_context(request),
        "title": _now("My desk"),
        "agent": desk.agent,
        "parts": changed_parts(desk, PARTS, {}),
        "chat_id": request.GET.get("chat_id", ""),
    }
    return TemplateResponse(request, "admin/desk/desk.html", context)


def now_view(request: HttpRequest, *parts: Part) -> HttpResponse:
    """Answer with the parts that have changed since the digests of the address: of the desk, and the bar."""
    desk = situation_of(request)
    if not parts:
        expect_topic(desk)
    changed = changed_parts(desk, parts or (INCOMING, *PARTS), request.GET.dict())
    response = JsonResponse({"at": desk.now.timestamp(), "parts": changed})
    add_never_cache_headers(response)
    return response


def incoming_view(request: HttpRequest) -> HttpResponse:
    """Answer with the bar, if it has changed: the poll of all other pages of an agent."""
    return now_view(request, INCOMING)


def act_view(request: HttpRequest, action: str) -> HttpResponse:
    """Do an action. The page's script wants JSON; without scripts the desk follows, with a message of a refusal."""
    desk = situation_of(request)
    if action not in ACTIONS:
        raise Http404
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    wants_json = request.headers.get("Accept") == JSON
    said, status = [], 200
    try:
        ACTIONS[action](desk, request.POST)
    except REFUSALS as error:
        said, status = sentences_of(error), 400
    except Http404 as error:
        if not wants_json:
            raise
        said, status = [str(error)], 404
    if wants_json:
        return JsonResponse({"errors": said}, status=status)
    for sentence in said:
        messages.error(request, sentence)
    return redirect("desk")


def urls() -> list[URLPattern]:
    """Return the addresses of the desk. The admin's log-in comes before each."""
    own = admin.site.admin_view
    return [
        path("admin/desk/", own(desk_view), name="desk"),
        path("admin/desk/now", own(now_view), name="desk-now"),
        path("admin/desk/incoming", own(incoming_view), name="desk-incoming"),
        path("admin/desk/phone/", own(phone_view), name="desk-phone"),
        path("admin/desk/phone/<slug:action>/", own(phone_act_view), name="desk-phone-act"),
        path("admin/desk/<slug:action>/", own(act_view), name="desk-act"),
    ]
