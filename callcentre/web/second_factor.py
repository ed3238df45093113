"""The pages of the second factor (the second step of the log-in, setting it up, recovery codes, switching it off), and
of the own sessions."""

from typing import Any

import segno
from django import forms
from django.contrib import messages
from django.contrib.auth.signals import user_login_failed
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from unfold.widgets import UnfoldAdminTextInputWidget

from callcentre import passwords
from callcentre.admin import user_of
from callcentre.admin.pages import site_page
from callcentre.admin.secrets import OwnPasswordForm
from callcentre.admin.users import end_chosen, rows_of
from callcentre.models import User
from callcentre.signin.enforcement import is_required_of
from callcentre.signin.models import RecoveryCode, SecondFactor
from callcentre.signin.verbs import (
    begin_second_factor,
    check_code,
    confirm_second_factor,
    end_sessions,
    has_second_factor,
    remove_second_factor,
    renew_recovery_codes,
    waiting_seconds,
)
from callcentre.web import pending_login

# The session's key for the time at which it began to set up a second factor.
_BEGUN = "second_factor_begun"
OUTSIDE, INSIDE = "unfold/layouts/unauthenticated.html", "admin/page.html"
_INPUT = {"autocomplete": "one-time-code", "autocapitalize": "none", "spellcheck": "false"}


class CodeForm(forms.Form):
    """The input of the second step: a code of the app, or a recovery code."""

    code = forms.CharField(
        label=_("Code of your app"),
        max_length=40,
        widget=UnfoldAdminTextInputWidget(attrs={**_INPUT, "autofocus": True}),
        help_text=_("Six digits. Without your phone, type one of your recovery codes."),
    )


class FirstCodeForm(forms.Form):
    """The input that confirms a new second factor."""

    code = forms.CharField(
        label=_("Code of your app"),
        max_length=40,
        widget=UnfoldAdminTextInputWidget(attrs={**_INPUT, "inputmode": "numeric"}),
        help_text=_("The six digits that the app shows now."),
    )


class CodeAndPasswordForm(OwnPasswordForm, CodeForm):
    """The input that changes the second factor: an open session and a password do not suffice."""


class FirstCodeAndPasswordForm(OwnPasswordForm, FirstCodeForm):
    """The same, for a person who is logged in: an open session alone cannot set up a second factor."""


@never_cache
def code_page(request: HttpRequest) -> HttpResponseBase:
    """Answer with the second step of the log-in. Wrong codes count towards the lockout of the log-in."""
    user = pending_login.user_of(request)
    if user is None or not has_second_factor(user):
        return redirect("admin:login")
    form = CodeForm(request.POST or None)
    is_right, refusal = _attempt(request, user, form)
    if is_right:
        return HttpResponseRedirect(pending_login.complete(request, user))
    response = site_page(request, "admin/second_factor/code.html", _now("Second step"), form=form)
    return passwords.refused(response, refusal)


def _attempt(request: HttpRequest, user: User, form: forms.Form) -> tuple[bool, passwords.Refused | None]:
    """Check the code of the form, and use it up. Return whether it is right, and the lockout if there is one."""
    if not form.is_valid():
        return False, None
    code, username = form.cleaned_data["code"], user.get_username()
    try:
        if passwords.attempt(request, username, lambda: check_code(user, code)):
            return True, None
        user_login_failed.send(__name__, credentials={"username": username}, request=request)
        refusal = passwords.lockout(request, username)
        form.add_error("code", refusal.sentence if refusal else _wrong_code(user))
    except passwords.Refused as error:
        refusal = error
        form.add_error("code", error.sentence)
    return False, refusal


def _wrong_code(user: User) -> str:
    sentence = _now("This code is wrong, or was used before.")
    if not (seconds := waiting_seconds(user)):
        return sentence
    wait = ngettext("Wait %(count)s second.", "Wait %(count)s seconds.", seconds)
    return f"{sentence} {wait % {'count': seconds}}"


@never_cache
def set_up_at_log_in(request: HttpRequest) -> HttpResponseBase:
    """Let a person who needs a second factor set it up, as the second step of the log-in."""
    user = pending_login.user_of(request)
    if user is None or has_second_factor(user):
        return redirect("admin:login")
    form = FirstCodeForm(request.POST or None)
    if form.is_valid() and (codes := _confirmed(user, form)):
        return _codes_page(request, codes, pending_login.complete(request, user), layout=OUTSIDE)
    return _set_up_page(request, user, form, OUTSIDE)


@never_cache
def set_up(request: HttpRequest) -> HttpResponseBase:
    """Let a person who is logged in set up a second factor. The person's other sessions end."""
    user = user_of(request)
    if has_second_factor(user):
        return redirect("second-factor")
    form = FirstCodeAndPasswordForm.of(request)(request.POST or None)
    if form.is_valid() and (codes := _confirmed(user, form)):
        end_sessions(user, user.actor, but=request.session.session_key)
        return _codes_page(request, codes, reverse("second-factor"), layout=INSIDE)
    return _set_up_page(request, user, form, INSIDE)


def _confirmed(user: User, form: forms.Form) -> list[str]:
    codes = confirm_second_factor(user, user.actor, form.cleaned_data["code"])
    if not codes:
        form.add_error("code", _wrong_code(user))
    return codes


@never_cache
def overview(request: HttpRequest) -> HttpResponse:
    """Answer with the state of the person's own second factor."""
    user = user_of(request)
    return site_page(
        request,
        "admin/second_factor/overview.html",
        _now("Two-factor log-in"),
        factor=SecondFactor.objects.confirmed_of(user).first(),
        code_count=RecoveryCode.objects.filter(user=user).count(),
        is_required=is_required_of(user),
    )


@never_cache
def new_codes(request: HttpRequest) -> HttpResponse:
    """Replace the recovery codes, and show the new ones once. One of them switches the second factor off."""
    form = CodeAndPasswordForm.of(request)(request.POST if request.method == "POST" else None)
    user = user_of(request)
    is_right, refusal = _attempt(request, user, form)
    if is_right and (codes := renew_recovery_codes(user, user.actor)):
        return _codes_page(request, codes, reverse("second-factor"), layout=INSIDE)
    page = _question(
        request,
        form,
        title=_now("New recovery codes"),
        intro=_now("You get ten new codes. The present ones stop working."),
        submit_label=_now("Make new codes"),
    )
    return passwords.refused(page, refusal)


@never_cache
def switch_off(request: HttpRequest) -> HttpResponse:
    """Remove the person's own second factor, after a code of it. Wrong codes count as those of the log-in do."""
    form = CodeAndPasswordForm.of(request)(request.POST if request.method == "POST" else None)
    user = user_of(request)
    if not has_second_factor(user):
        return redirect("second-factor")
    is_right, refusal = _attempt(request, user, form)
    if is_right:
        remove_second_factor(user, user.actor, but=request.session.session_key)
        messages.success(request, _now("The two-factor log-in is switched off."))
        return redirect("second-factor")
    sentences = [_now("Your password alone will then be enough to log in, and your recovery codes stop working.")]
    if is_required_of(user):
        sentences = [_now("Your account needs a second factor: you log in again and set up a new one.")]
    page = _question(
        request, form, title=_now("Switch off"), intro=" ".join(sentences), submit_label=_now("Switch off")
    )
    return passwords.refused(page, refusal)


@never_cache
def own_sessions(request: HttpRequest) -> HttpResponse:
    """Answer with the sessions of the person; end one of them, or all others."""
    user = user_of(request)
    if request.method == "POST":
        messages.success(request, end_chosen(request, user))
        return redirect("own-sessions")
    return site_page(request, "admin/second_factor/sessions.html", _now("Sessions"), rows=rows_of(user, request))


def _set_up_page(request: HttpRequest, user: User, form: forms.Form, layout: str) -> HttpResponse:
    """Answer with the key as QR code and as text. It stays the same in this session for some minutes."""
    begun = parse_datetime(request.session.get(_BEGUN, ""))
    factor = begin_second_factor(user, begun)
    if factor.confirmed:  # in another tab, just now
        return redirect(request.path)
    if factor.created_at != begun:
        request.session[_BEGUN] = factor.created_at.isoformat()
    image = segno.make(factor.address, error="m").svg_data_uri(scale=5, border=3, light="white")
    return site_page(
        request,
        "admin/second_factor/set_up.html",
        _now("Set up the two-factor log-in"),
        form=form,
        layout=layout,
        image=image,
        key=factor.key_in_groups,
        address=factor.address,
    )


def _codes_page(request: HttpRequest, codes: list[str], done_url: str, *, layout: str) -> HttpResponse:
    title = _now("Your recovery codes")
    return site_page(request, "admin/second_factor/codes.html", title, codes=codes, done_url=done_url, layout=layout)


def _question(request: HttpRequest, form: forms.Form, **context: Any) -> HttpResponse:
    cancel_url = reverse("second-factor")
    return site_page(request, "admin/action.html", form=form, media=forms.Media(), cancel_url=cancel_url, **context)
