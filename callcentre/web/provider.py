"""The log-in by a provider of OpenID Connect, and the ends of log-ins: by the person here, and by the provider."""

import logging
import time
from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth import login
from django.db import IntegrityError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _now
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from callcentre.passwords import CONFIRMED_AT, CONFIRMED_FOR_SECONDS
from callcentre.signin.models import ProviderSession
from callcentre.signin.models.session import PROVIDER_SESSION
from callcentre.signin.provider import ProviderError, ProviderRefusal, provider
from callcentre.signin.verbs.provider_sessions import NotAdmitted, admit, end_by_provider
from callcentre.web.pending_login import BACKEND, wanted_page

logger = logging.getLogger(__name__)

# The session's key for the page that the log-in is for, and whether the person confirms an open log-in.
_WANTED = "provider_wanted"


@never_cache
def begin(request: HttpRequest) -> HttpResponse:
    """Lead the person to the provider. With `again`, the provider asks who the person is although it knows."""
    _must_have_provider()
    is_again = "again" in request.GET
    further = {"prompt": "login", "max_age": 0} if is_again else {}
    try:
        answer: HttpResponse = provider().lead(request, request.build_absolute_uri(reverse("provider-back")), **further)
    except (ProviderError, ProviderRefusal) as error:
        return _refuse(request, error)
    request.session[_WANTED] = {"next": request.GET.get("next", ""), "is_again": is_again}
    return answer


@never_cache
def come_back(request: HttpRequest) -> HttpResponse:
    """Log in the person whom the provider sends back."""
    _must_have_provider()
    wanted: dict[str, Any] = request.session.pop(_WANTED, {})
    try:
        token, claims = provider().log_in(request)
        told = claims.get("auth_time")
        given_at = min(float(told), time.time()) if isinstance(told, int | float) else 0.0
        if wanted.get("is_again") and time.time() - given_at > CONFIRMED_FOR_SECONDS:
            raise ProviderError("auth_time is old, although max_age was 0")
        admitted = admit(claims, token)
    except (ProviderError, ProviderRefusal, NotAdmitted, IntegrityError) as error:
        return _refuse(request, error)
    if wanted.get("is_again") and request.user == admitted.user:
        # A new key: a stolen session must not become a confirmed one. Forms of other tabs stay good.
        request.session.cycle_key()
    else:
        login(request, admitted.user, backend=BACKEND)
    request.session[PROVIDER_SESSION] = admitted.pk
    # The person gave the password when the provider says so, perhaps hours ago.
    request.session[CONFIRMED_AT] = given_at
    return HttpResponseRedirect(wanted_page(request, wanted.get("next", "")))


@require_POST
def log_out(request: HttpRequest) -> HttpResponseBase:
    """Log the person out, here and at the provider: the next person at this desk must not be logged in as this one."""
    session = ProviderSession.objects.filter(pk=request.session.get(PROVIDER_SESSION) or 0).first()
    response: HttpResponseBase = admin.site.logout(request)
    if session is None:
        return response
    session.delete()
    try:
        return redirect(
            provider().log_out_address(request.build_absolute_uri(reverse("admin:login")), session.id_token)
        )
    except (ProviderError, ProviderRefusal):
        return response


@csrf_exempt
@require_POST
@never_cache
def end(request: HttpRequest) -> HttpResponse:
    """End log-ins at the word of the provider (OpenID Connect Back-Channel Logout 1.0)."""
    _must_have_provider()
    try:
        end_by_provider(request.POST.get("logout_token", ""))
    except (ProviderError, ProviderRefusal) as error:
        logger.warning("logout token refused", extra={"error": str(error)})
        return HttpResponse(status=400)
    return HttpResponse()


def _refuse(request: HttpRequest, error: Exception) -> HttpResponse:
    if isinstance(error, NotAdmitted):
        sentence = str(error)
    elif isinstance(error, ProviderRefusal):
        sentence = _now("The log-in was given up, or took too long. Try again.")
    else:
        sentence = _now("%(provider)s does not answer as it should. Try again, or ask an administrator.")
        sentence %= {"provider": settings.OIDC_NAME}
    logger.warning("log-in by the provider failed", extra={"error": str(error)})
    messages.error(request, sentence)
    return redirect(reverse("admin:login"))


def _must_have_provider() -> None:
    if not settings.OIDC_ISSUER:
        raise Http404
