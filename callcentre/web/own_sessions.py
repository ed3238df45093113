"""The page of one's own sessions."""

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _now
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache

from callcentre.admin import user_of
from callcentre.admin.sign_in import rows_of
from callcentre.signin.verbs.sessions import end_session, end_sessions


@never_cache
def own_sessions(request: HttpRequest) -> HttpResponse:
    """Answer with the sessions of the person; end one of them, or all others."""
    user = user_of(request)
    if request.method == "POST":
        if name := request.POST.get("session"):
            count = end_session(user, user.actor, name)
        else:
            count = end_sessions(user, user.actor, but=request.session.session_key)
        sentence = ngettext("%(count)s session ended.", "%(count)s sessions ended.", count)
        messages.success(request, sentence % {"count": count})
        return redirect("own-sessions")
    context = {
        **admin.site.each_context(request),
        "title": _now("Sessions"),
        "rows": rows_of(user, request),
    }
    return TemplateResponse(request, "admin/second_factor/sessions.html", context)
