"""The log-in to the admin and the change of one's own password, both limited against guessing."""

from typing import Any

from django.conf import settings
from django.contrib import admin
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.views import PasswordChangeView
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse_lazy
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from unfold.forms import AdminOwnPasswordChangeForm, AuthenticationForm

from callcentre import passwords
from callcentre.models import User
from callcentre.signin.enforcement import admitted
from callcentre.web.pending_login import SecondStepNeeded, begin, needs_second_step


class ThrottledBackend(ModelBackend):
    """Django's own backend, which refuses even a right password during a lockout of the address."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **kwargs: Any
    ) -> User | None:
        check = super().authenticate
        if request is None:
            return check(request, username=username, password=password, **kwargs)
        try:
            return passwords.attempt(
                request, username or "", lambda: check(request, username=username, password=password, **kwargs)
            )
        except passwords.Refused as error:
            request.refusal = error  # type: ignore[attr-defined]
            raise PermissionDenied from error

    def get_user(self, user_id: int) -> User | None:
        """Return the user of a session, read together with the user's agent, for which pages ask.

        A user who needs a second factor and has none is not logged in (callcentre.signin.enforcement).
        """
        try:
            user = admitted(User.objects.select_related("agent")).get(pk=user_id)
        except User.DoesNotExist:
            return None
        return user if self.user_can_authenticate(user) else None


class LoginForm(AuthenticationForm):
    """The form of the log-in page. It distinguishes a wrong password from a lockout and shows how long that lasts."""

    refusal: passwords.Refused | None = None

    def confirm_login_allowed(self, user: Any) -> None:
        super().confirm_login_allowed(user)
        if settings.OIDC_ONLY and not user.is_superuser:
            sentence = _("You log in by %(provider)s. Only administrators have a password here.")
            raise ValidationError(sentence % {"provider": settings.OIDC_NAME}, code="provider")
        if needs_second_step(user):
            raise SecondStepNeeded(user)

    def get_invalid_login_error(self) -> ValidationError:
        if self.request is not None:
            refused = getattr(self.request, "refusal", None)
            # This attempt may have caused the lockout.
            self.refusal = refused or passwords.lockout(self.request, self.cleaned_data.get("username") or "")
        if self.refusal:
            return ValidationError(self.refusal.sentence, code="locked")
        error: ValidationError = super().get_invalid_login_error()
        return error


@never_cache
def login(request: HttpRequest) -> HttpResponseBase:
    """Answer with the log-in page; 429 with Retry-After during a lockout of the address."""
    offered = {"provider": settings.OIDC_ISSUER and settings.OIDC_NAME, "is_provider_only": settings.OIDC_ONLY}
    try:
        response = admin.site.login(request, extra_context=offered)
    except SecondStepNeeded as needed:
        return begin(request, needed.user)
    form = (getattr(response, "context_data", None) or {}).get("form")
    return passwords.refused(response, getattr(form, "refusal", None))


class OwnPasswordForm(AdminOwnPasswordChangeForm):
    """The form for changing one's own password. Wrong old passwords count as wrong log-ins."""

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.request = request

    def clean_old_password(self) -> str:
        old: str = self.cleaned_data["old_password"]
        passwords.confirm(self.request, old)
        return old


class OwnPasswordView(PasswordChangeView):
    form_class = OwnPasswordForm
    success_url = reverse_lazy("admin:password_change_done")

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "request": self.request}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**admin.site.each_context(self.request), **kwargs)
