from dataclasses import dataclass
from typing import Any, ClassVar

from django import forms
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminPasswordWidget, UnfoldBooleanWidget

from callcentre.admin.secrets import OwnPasswordForm
from callcentre.admin.theme import ModelForm


@dataclass(frozen=True, slots=True)
class StoredPassword:
    """An encrypted password of a row, and the fields that say which server gets it, and how."""

    column: str
    destination: tuple[str, ...]
    # Of its inputs.
    prefix: str = ""

    @property
    def new(self) -> str:
        return f"{self.prefix}new_password"

    @property
    def forget(self) -> str:
        return f"{self.prefix}forget_password"


def password_field() -> forms.CharField:
    return forms.CharField(
        label=_("Password"),
        required=False,
        strip=False,
        max_length=500,
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"}),
        help_text=_("Kept encrypted and never shown. What is typed replaces it; left empty, it stays."),
    )


def removal_field() -> forms.BooleanField:
    return forms.BooleanField(label=_("Remove the password"), required=False, widget=UnfoldBooleanWidget())


class PasswordForm(OwnPasswordForm, ModelForm):
    """The form of a row with encrypted passwords, which are entered and never shown again.

    A stored password is sent to the server that it was entered for, and to no other: a change of its destination needs
    it again.
    """

    passwords: ClassVar[tuple[StoredPassword, ...]]

    new_password = password_field()
    forget_password = removal_field()

    @classmethod
    def inputs(cls, row: Any, password: StoredPassword) -> list[str]:
        """Return the inputs that make sense for this row, or for a new one."""
        is_set = row is not None and bool(getattr(row, password.column))
        return [password.new, *([password.forget] if is_set else [])]

    def is_sensitive(self) -> bool:
        """Return whether a stored password is replaced or removed."""
        names = {name for each in self.passwords for name in (each.new, each.forget)}
        return self.instance.pk is not None and not names.isdisjoint(self.changed_data)

    def clean(self) -> Any:
        cleaned = super().clean()
        for each in self.passwords:
            is_kept = getattr(self.instance, each.column) and not self.cleaned_data.get(each.forget)
            if is_kept and not self.cleaned_data.get(each.new) and {*each.destination} & {*self.changed_data}:
                self.add_error(each.new, _("Enter the password again: it would be sent to another server."))
        return cleaned

    def save(self, commit: bool = True) -> Any:
        for each in self.passwords:
            if self.cleaned_data.get(each.forget):
                setattr(self.instance, each.column, "")
            elif password := self.cleaned_data.get(each.new):
                setattr(self.instance, each.column, password)
        return super().save(commit)

    def touched(self) -> list[str]:
        """Return the names of the changed columns."""
        columns = {name: each.column for each in self.passwords for name in (each.new, each.forget)}
        return sorted({columns.get(name, name) for name in self.changed_data})
