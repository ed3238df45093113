"""The home of a user: the desk of an agent, the overview of a supervisor."""

from typing import Any

from django.contrib import admin
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect

from callcentre.admin import user_of
from callcentre.models import User
from callcentre.signin.enforcement import SUPERVISING
from telephony.models import Agent


def agent_of(user: User | AnonymousUser) -> Agent | None:
    """Return the active agent of a user, or None. The log-in has read the agent together with the user."""
    agent: Agent | None = getattr(user, "agent", None)
    return agent if agent is not None and agent.is_active else None


def agent_or_refuse(request: HttpRequest) -> Agent:
    """Return the agent who sends a request. Raises PermissionDenied for a user who is no agent."""
    agent = agent_of(user_of(request))
    if agent is None:
        raise PermissionDenied
    return agent


def is_supervisor(user: User | AnonymousUser) -> bool:
    return any(user.has_perm(f"{app}.{name}") for app, names in SUPERVISING.items() for name in names)


def is_at_desk(user: User | AnonymousUser) -> bool:
    """Return whether the desk is the user's home: an agent who supervises nothing."""
    return agent_of(user) is not None and not is_supervisor(user)


def index(request: HttpRequest, **context: Any) -> HttpResponseBase:
    """Answer with the overview, and send an agent to the desk."""
    if is_at_desk(user_of(request)):
        return redirect("desk")
    return admin.site.index(request)
