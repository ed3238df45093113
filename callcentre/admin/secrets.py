"""The forms that ask for a person's own password before a secret is shown or changed."""

from typing import Any, ClassVar, Self, cast

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import mark_safe
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldAdminPasswordWidget

from callcentre import passwords
from callcentre.models import User

OWN_PASSWORD = "own_password"  # noqa: S105  (the name of an input)


class OwnPasswordForm(forms.Form):
    """A form that asks the person for their own password, unless they gave it in the last ten minutes.

    A stolen session, or one that was left open, is not enough to use the form.
    """

    request: ClassVar[HttpRequest]

    own_password = forms.CharField(
        label=_("Your own password"),
        required=False,
        strip=False,
        max_length=500,
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "current-password"}),
        help_text=_("Asked for again before a secret is shown or changed. It is then good for ten minutes."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if passwords.is_confirmed(self.request):
            del self.fields[OWN_PASSWORD]
        elif not cast("User", self.request.user).has_usable_password():
            field = self.fields[OWN_PASSWORD]
            field.disabled, field.label, field.help_text = True, _("Confirmation that it is you"), _again()

    @classmethod
    def of(cls, request: HttpRequest) -> type[Self]:
        """Return this form for the person of the request."""
        return type(cls.__name__, (cls,), {"request": request})

    def is_sensitive(self) -> bool:
        """Return whether the input shows or changes a secret. All other fields are cleaned by then."""
        return True

    @property
    def changed_data(self) -> list[str]:
        return [name for name in super().changed_data if name != OWN_PASSWORD]

    def clean(self) -> Any:
        cleaned = super().clean()
        if OWN_PASSWORD in self.fields and self.is_sensitive():
            try:
                passwords.confirm(self.request, self.cleaned_data.get(OWN_PASSWORD, ""))
            except ValidationError as error:
                self.add_error(OWN_PASSWORD, error)
        return cleaned


class RotateForm(OwnPasswordForm):
    overlap_hours = forms.IntegerField(
        label=_("Hours for which the old secret goes on working"),
        min_value=0,
        max_value=30 * 24,
        initial=24,
        widget=UnfoldAdminIntegerFieldWidget(),
        help_text=_("0 ends it at once. Long enough to change it in every program that uses it."),
    )
    # A form sent twice would end the secret that it has just shown. The second time, the version is outdated.
    version = forms.CharField(widget=forms.HiddenInput)


def _again() -> str:
    """Return the sentence for a person without a password here, with the link to the provider."""
    link = format_html(
        '<a class="cc-link" href="{}?again" target="_blank">{}</a>', reverse("provider-log-in"), _now("Log in again")
    )
    sentence = _now("%(link)s in another tab, then send this. It is then good for ten minutes.")
    return mark_safe(sentence % {"link": link})  # noqa: S308  (the link is escaped)


def password_inputs(request: HttpRequest) -> list[str]:
    """Return the name of the input for the own password, or nothing if the password was given a short time ago."""
    return [] if passwords.is_confirmed(request) else [OWN_PASSWORD]
