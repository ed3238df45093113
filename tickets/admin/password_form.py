from typing import Any, ClassVar

from django import forms
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminPasswordWidget, UnfoldBooleanWidget

from callcentre.admin.secrets import OwnPasswordForm, password_inputs
from callcentre.admin.theme import ModelForm


class PasswordForm(OwnPasswordForm, ModelForm):
    """The form of a row with an encrypted password, which is entered and never shown again.

    A stored password is sent to the server that it was entered for, and to no other: a change of `destination` needs
    it again.
    """

    column: ClassVar[str]
    # The fields that say which server gets the password, and how.
    destination: ClassVar[tuple[str, ...]]

    new_password = forms.CharField(
        label=_("Password"),
        required=False,
        strip=False,
        max_length=500,
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"}),
        help_text=_("Kept encrypted and never shown. What is typed replaces it; left empty, it stays."),
    )
    forget_password = forms.BooleanField(label=_("Remove the password"), required=False, widget=UnfoldBooleanWidget())

    @classmethod
    def inputs(cls, request: HttpRequest, row: Any) -> list[str]:
        """Return the inputs that make sense for this row, or for a new one."""
        if row is None:
            return ["new_password"]
        is_set = bool(getattr(row, cls.column))
        return ["new_password", *(["forget_password"] if is_set else []), *password_inputs(request)]

    def is_sensitive(self) -> bool:
        """Return whether a stored password is replaced or removed."""
        return self.instance.pk is not None and not {"new_password", "forget_password"}.isdisjoint(self.changed_data)

    def clean(self) -> Any:
        cleaned = super().clean()
        is_kept = getattr(self.instance, self.column) and not self.cleaned_data.get("forget_password")
        if is_kept and not self.cleaned_data.get("new_password") and {*self.destination} & {*self.changed_data}:
            self.add_error("new_password", _("Enter the password again: it would be sent to another server."))
        return cleaned

    def save(self, commit: bool = True) -> Any:
        if self.cleaned_data.get("forget_password"):
            setattr(self.instance, self.column, "")
        elif password := self.cleaned_data.get("new_password"):
            setattr(self.instance, self.column, password)
        return super().save(commit)

    def touched(self) -> list[str]:
        """Return the names of the changed columns."""
        return sorted({self.column if name.endswith("_password") else name for name in self.changed_data})
