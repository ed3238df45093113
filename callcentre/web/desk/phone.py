"""The window of an agent's phone in the browser, and what its script (phone.js) asks for."""

import base64
import hashlib
import hmac
import time
import uuid
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, JsonResponse
from django.template.response import TemplateResponse
from django.utils.cache import add_never_cache_headers

from callcentre.admin import actor_of
from callcentre.core.errors import Conflict, ErrorCode
from callcentre.web.desk.home import agent_or_refuse
from telephony.calls import browser_phones, commands
from telephony.models import Agent, BrowserPhone, CallCommand, Connection
from telephony.models.browser_phone import NO_MICROPHONE
from telephony.switch import current_switch
from telephony.switch.base import SwitchError
from telephony.verbs import presence

# For this time a browser may use the TURN server.
TURN_SECONDS = 12 * 3600


def phone_view(request: HttpRequest) -> HttpResponse:
    return TemplateResponse(request, "admin/desk/phone.html", {"agent": agent_or_refuse(request)})


def phone_act_view(request: HttpRequest, action: str) -> HttpResponse:
    """Open or close the phone, hear of its window, or call it for a test. The answer is JSON."""
    agent = agent_or_refuse(request)
    if action not in _ACTIONS:
        raise Http404
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    try:
        response = JsonResponse(_ACTIONS[action](agent, request))
    except Conflict as error:
        response = JsonResponse({"errors": [str(error.code.text)]}, status=409)
    add_never_cache_headers(response)
    return response


def _open(agent: Agent, request: HttpRequest) -> dict[str, Any]:
    phone = browser_phones.open_phone(agent)
    return {
        "token": str(phone.token),
        "number": agent.number,
        "password": phone.password,
        "url": settings.PHONE_URL,
        "ice_servers": ice_servers(agent.login, time.time()),
        "is_simulated": settings.SWITCH_BACKEND == "simulated",
    }


def _hear(agent: Agent, request: HttpRequest) -> dict[str, Any]:
    """Keep the quality of the present call. Answer whether this window still has the phone, whether calls come to it,
    whether it may be opened anew, and whether the customer is on hold.
    """
    presence.hear(agent.pk, begins=False)
    is_current = browser_phones.hear_of(agent, _token(request), request.POST.get("trouble", "")[:20])
    phone = BrowserPhone.objects.filter(agent=agent, closed_at=None).defer("password").first()
    call = None
    if is_current and "reports" in request.POST and (call := browser_phones.talk_of(agent)):
        _keep_quality(call, agent, request.POST["reports"])
    return {
        "is_on_hold": call is not None and call.is_on_hold,
        "is_current": is_current,
        "is_closed": phone is None,
        "is_reached": phone is not None and phone.registered_at is not None,
        "may_open": phone is None and agent.uses_browser_phone and agent.sessions.filter(ended_at=None).exists(),
    }


def _keep_quality(call: Connection, agent: Agent, text: str) -> None:
    """Add the reports of the window. Those of an unknown form, as of a page of another release, are left out."""
    try:
        reports = browser_phones.read_reports(text)
    except ValueError:
        return
    if reports and not call.is_on_hold:
        browser_phones.add_quality(call, agent, reports)


def _lack(agent: Agent, request: HttpRequest) -> dict[str, Any]:
    """Hear of a window that cannot open the phone."""
    trouble = request.POST.get("trouble", "")
    if trouble in NO_MICROPHONE:
        browser_phones.cannot_open(agent, trouble)
    return {}


def _hold(agent: Agent, request: HttpRequest) -> dict[str, Any]:
    """Put the customer of the present call on hold, or talk on."""
    if (call := browser_phones.talk_of(agent)) is None:
        raise Conflict(ErrorCode.CALL_NOT_TALKING)
    kind = CallCommand.Kind.RESUME if call.is_on_hold else CallCommand.Kind.HOLD
    commands.ask(actor_of(request), call, kind)
    return {"is_on_hold": kind == CallCommand.Kind.HOLD}


def _close(agent: Agent, request: HttpRequest) -> dict[str, Any]:
    browser_phones.close_phone(agent, _token(request))
    return {}


def _test(agent: Agent, request: HttpRequest) -> dict[str, Any]:
    try:
        current_switch().test_phone(agent.number)
    except SwitchError as error:
        return {"errors": [str(error)]}
    return {}


def _token(request: HttpRequest) -> uuid.UUID:
    try:
        return uuid.UUID(request.POST.get("token", ""))
    except ValueError:
        return uuid.UUID(int=0)


_ACTIONS: dict[str, Callable[[Agent, HttpRequest], dict[str, Any]]] = {
    "open": _open,
    "seen": _hear,
    "lack": _lack,
    "hold": _hold,
    "close": _close,
    "test": _test,
}


def ice_servers(login: str, now: float) -> list[dict[str, Any]]:
    """Return the STUN and TURN servers for a browser, with a password of TURN that ends by itself.

    The password is that of coturn's `use-auth-secret` (draft-uberti-behave-turn-rest).
    """
    servers: list[dict[str, Any]] = [{"urls": settings.STUN_URLS}] if settings.STUN_URLS else []
    if settings.TURN_URLS:
        user = f"{int(now) + TURN_SECONDS}:{login}"
        digest = hmac.new(settings.TURN_SECRET.encode(), user.encode(), hashlib.sha1).digest()
        servers.append(
            {"urls": settings.TURN_URLS, "username": user, "credential": base64.b64encode(digest).decode("ascii")}
        )
    return servers
