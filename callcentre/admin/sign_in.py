"""The log-in of a person, for administrators: the second factor and the sessions."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from callcentre.admin.base import Admin, user_of
from callcentre.admin.secrets import OwnPasswordForm
from callcentre.admin.theme import page_action
from callcentre.models import User
from callcentre.signin.browsers import in_words
from callcentre.signin.models import RecoveryCode, SecondFactor
from callcentre.signin.verbs.second_factor import has_second_factor, remove_second_factor
from callcentre.signin.verbs.sessions import end_session, end_sessions, sessions_of


def rows_of(user: User, request: HttpRequest) -> list[dict[str, Any]]:
    """Return the sessions of a user for a page; `is_this` marks the session of the request."""
    own = request.session.session_key
    return [
        {
            "name": session.name,
            "browser": in_words(session.browser) or _now("unknown browser"),
            "address": session.address,
            "started_at": session.started_at,
            "seen_at": session.seen_at,
            "is_this": session.session_key == own,
        }
        for session in sessions_of(user)
    ]


class SignInMixin(Admin):
    """The pages on which an administrator ends sessions and removes the second factor of a person.

    They need the permission to change this person: people cannot do this to stronger people.
    """

    actions_detail: Any = ("log_ins", "remove_factor")

    @page_action(description=_("Log-ins"), url_path="log-ins", icon="devices", permissions=["change"])
    def log_ins(self, request: HttpRequest, object_id: str) -> HttpResponse:
        user: User = self.row_or_404(request, object_id)
        actor = user_of(request).actor
        if request.method == "POST":
            name = request.POST.get("session")
            but = request.session.session_key
            count = end_session(user, actor, name) if name else end_sessions(user, actor, but=but)
            sentence = ngettext("%(count)s session ended.", "%(count)s sessions ended.", count)
            self.message_user(request, sentence % {"count": count}, messages.SUCCESS)
            return redirect(request.path)
        return self.page(
            request,
            "admin/second_factor/sessions.html",
            user,
            title=_now("Log-ins"),
            rows=rows_of(user, request),
            person=user,
            factor=SecondFactor.objects.confirmed_of(user).first(),
            code_count=RecoveryCode.objects.filter(user=user).count(),
            remove_url=self.url_of("remove_factor", user.pk),
        )

    @page_action(
        description=_("Remove the second factor"),
        url_path="remove-factor",
        icon="phonelink_erase",
        permissions=["change"],
    )
    def remove_factor(self, request: HttpRequest, object_id: str) -> HttpResponse:
        user: User = self.row_or_404(request, object_id)
        if not has_second_factor(user):
            self.message_user(request, _("This person has no second factor."), messages.WARNING)
            return redirect(self.url_of("change", user.pk))
        form = OwnPasswordForm.of(request)(request.POST if request.method == "POST" else None)
        if form.is_valid():
            remove_second_factor(user, user_of(request).actor, but=request.session.session_key)
            self.message_user(
                request, _("The second factor is removed, and the person is logged out."), messages.SUCCESS
            )
            return redirect(self.url_of("change", user.pk))
        intro = _now(
            "For a person who has lost the phone and the recovery codes. Make sure that it is this person who asks: "
            "the password alone is then enough to log in, until a new second factor is set up."
        )
        return self.action_page(
            request, title=_now("Remove the second factor"), submit=_now("Remove"), intro=intro, form=form, obj=user
        )
