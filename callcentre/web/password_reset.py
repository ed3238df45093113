"""The pages on which a person who forgot the password asks for a new one by mail, and chooses it."""

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.views import PasswordResetCompleteView, PasswordResetConfirmView
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse_lazy
from django.utils import translation
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from unfold.widgets import UnfoldAdminPasswordWidget, UnfoldAdminTextInputWidget

from callcentre.core.audit import AuditAction, record
from callcentre.core.network import client_address
from callcentre.core.sender import acting, sender
from callcentre.models import User
from callcentre.rate_limits import source_of
from callcentre.signin.verbs import ask_for_reset, end_sessions, may_ask


class AskForm(forms.Form):
    typed = forms.CharField(
        label=_("Login or e-mail address"),
        max_length=254,
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "username", "autocapitalize": "none"}),
    )


class ChosenPasswordForm(SetPasswordForm):  # type: ignore[type-arg]  # generic in the stubs only
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("new_password1", "new_password2"):
            self.fields[name].widget = UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"})


@never_cache
def ask(request: HttpRequest) -> HttpResponse:
    """Take the wish for a new password. The answer is the same whether there is such a user or not."""
    form = AskForm(request.POST or None)
    status = 200
    if form.is_valid():
        source = source_of(client_address(request.META))
        if may_ask(source):
            site = f"{request.scheme}://{request.get_host()}"
            ask_for_reset(form.cleaned_data["typed"], source, site, translation.get_language() or "en")
            return redirect("password-reset-done")
        form.add_error(None, _("Too many attempts. Try again in an hour."))
        status = 429
    return TemplateResponse(request, "admin/password_reset/ask.html", _context(request, form=form), status=status)


@never_cache
def asked(request: HttpRequest) -> HttpResponse:
    return TemplateResponse(request, "admin/password_reset/asked.html", _context(request))


class ChoosePassword(PasswordResetConfirmView):
    """The page of the link in the mail. The link works once, within PASSWORD_RESET_TIMEOUT."""

    form_class = ChosenPasswordForm
    template_name = "admin/password_reset/choose.html"
    success_url = reverse_lazy("password-reset-complete")

    def get_user(self, uidb64: str) -> User | None:
        user: Any = super().get_user(uidb64)
        return user if user is not None and user.is_active and user.is_staff else None

    def form_valid(self, form: Any) -> HttpResponse:
        """Save the password. All sessions of the person end, and a second factor is still asked for."""
        user: Any = self.user
        with acting(user.actor, sender().address), transaction.atomic():
            end_sessions(user, user.actor)
            record(user.actor, AuditAction.RESET_PASSWORD, user)
            return super().form_valid(form)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return _context(self.request, **super().get_context_data(**kwargs))


class Chosen(PasswordResetCompleteView):
    template_name = "admin/password_reset/chosen.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return _context(self.request, **super().get_context_data(**kwargs))


def _context(request: HttpRequest, **context: Any) -> dict[str, Any]:
    return {**admin.site.each_context(request), **context, "title": _now("New password")}
