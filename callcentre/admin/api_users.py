from collections.abc import Iterable
from datetime import timedelta
from functools import partial
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.password_validation import password_validators_help_texts, validate_password
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.formats import localize
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy
from unfold.widgets import UnfoldAdminPasswordWidget, UnfoldAdminTextareaWidget

from callcentre.admin.base import Admin, ReadOnlyAdmin, actor_of, user_of
from callcentre.admin.confirmations import confirm_first
from callcentre.admin.forms import ListField
from callcentre.admin.grant_limits import givable_rights, is_stronger
from callcentre.admin.history import SHOWN, ChangeMixin, Entry, HistoryMixin, entry_of, in_words
from callcentre.admin.secrets import OwnPasswordForm, RotateForm, password_inputs
from callcentre.admin.theme import ModelForm, display, never, page_action
from callcentre.core.errors import Outdated
from callcentre.models import AREAS, RIGHTS, ApiUser, ApiUserChange, validate_networks

EDITABLE = ("description", "is_active", "rights", "allowed_networks", "expires_at", "rate_limit")


class RightsMatrix(forms.CheckboxSelectMultiple):
    """A table of check boxes, a row for each area with one box for read and one for write.

    The rows above them are for all areas and for everything. Rights that the person may not give are left out.
    """

    template_name = "admin/widgets/rights.html"

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        context = super().get_context(name, value, attrs)
        held = set(value or ())
        offered = {right for right, _label in self.choices}
        rows = [("*", _("All areas, also those yet to come")), *AREAS.items()]
        context["everything"] = {"value": "*", "checked": "*" in held} if "*" in offered else None
        context["rows"] = [
            {
                "name": area,
                "title": title,
                "cells": [
                    {"value": right, "checked": right in held, "label": label, "is_offered": right in offered}
                    for access, label in (("read", _now("read")), ("write", _now("write")))
                    for right in [f"{area}:{access}"]
                ],
            }
            for area, title in rows
            if not offered.isdisjoint((f"{area}:read", f"{area}:write"))
        ]
        context["lacks_some"] = len(offered) < len(RIGHTS)
        return context


class RightsField(forms.MultipleChoiceField):
    widget = RightsMatrix

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(choices=[(right, right) for right in RIGHTS], **kwargs)
        self.error_messages["invalid_choice"] = _("You cannot give the right %(value)s.")

    def offer(self, rights: Iterable[str]) -> None:
        """Show and accept these rights only."""
        self.choices = [(right, right) for right in rights]

    def clean(self, value: Any) -> list[str]:
        chosen = super().clean(value)
        return [right for right in RIGHTS if right in chosen]


class NetworksField(ListField):
    """A list of networks, one a line or with commas between them."""

    widget = UnfoldAdminTextareaWidget(attrs={"rows": 3, "class": "cc-monospace"})

    def validate(self, value: Any) -> None:
        super().validate(value)
        errors = []
        for network in value:
            try:
                validate_networks([network])
            except ValidationError as error:
                errors.append(error)
        if errors:
            raise ValidationError(errors)


class ApiUserForm(OwnPasswordForm, ModelForm):
    rights = RightsField(label=_("Rights"), required=False)
    allowed_networks = NetworksField(
        label=_("Allowed networks"),
        required=False,
        help_text=_("One a line, as 192.0.2.0/24 or a single address. Empty: from anywhere."),
    )

    class Meta:
        model = ApiUser
        fields = ("login", *EDITABLE)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if isinstance(rights := self.fields.get("rights"), RightsField):
            rights.offer(givable_rights(user_of(self.request)))

    def is_sensitive(self) -> bool:
        """Return whether a new API user is added: the answer shows its secret."""
        return self.instance.pk is None

    def clean_login(self) -> str:
        login: str = self.cleaned_data["login"]
        if ":" in login:
            raise ValidationError(_("A login has no colon."))
        return login


def _new_password(label: Any) -> forms.CharField:
    widget = UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"})
    return forms.CharField(label=label, strip=False, max_length=200, widget=widget)


class PasswordForm(OwnPasswordForm):
    password = _new_password(_("Password"))
    again = _new_password(_("The same again"))

    def __init__(self, user: ApiUser, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user
        self.fields["password"].help_text = " ".join(password_validators_help_texts())

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        validate_password(password)
        if password.lower() == self.user.login.lower():
            raise ValidationError(_("The password is too similar to the login."))
        return password

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        if values.get("password") and values["password"] != values.get("again"):
            self.add_error("again", _("The two do not agree."))
        return values


@admin.register(ApiUser)
class ApiUserAdmin(HistoryMixin, Admin):
    """Programs that may call the API, with their rights, limits and last use."""

    form = ApiUserForm
    list_display = ("login", "description", "is_active", "rights_summary", "networks_summary", "expiry", "last_used_at")
    list_filter = ("is_active",)
    search_fields = ("login", "description")
    actions = ("enable", "disable")
    actions_detail = ("rotate_secret", "set_password")
    readonly_fields = ("credential", "last_used_at", "created_at")
    fixed_fields = ("login",)
    # An API user is disabled, never deleted, so that the history of its rights remains.
    has_delete_permission = never

    def get_fieldsets(self, request: HttpRequest, obj: ApiUser | None = None) -> Any:
        about = ["login", "description", "is_active"]
        about += password_inputs(request) if obj is None else ["credential", "last_used_at", "created_at"]
        return [
            (None, {"fields": about}),
            (_("Rights"), {"fields": ["rights"]}),
            (_("Limits"), {"fields": ["allowed_networks", "expires_at", "rate_limit"]}),
        ]

    def is_fixed(self, request: HttpRequest, obj: Any) -> bool:
        """Refuse to change API users that are stronger: with a new secret, the person could act with their rights."""
        return is_stronger(obj, user_of(request))

    # The list

    @display(description=_("rights"))
    def rights_summary(self, user: ApiUser) -> str:
        if "*" in user.rights:
            return _now("everything")
        named = {"*:read": _now("read all"), "*:write": _now("write all")}
        summary = ", ".join(named.get(right, right) for right in user.rights[:3]) or _now("none")
        return f"{summary} …" if len(user.rights) > 3 else summary

    @display(description=_("networks"))
    def networks_summary(self, user: ApiUser) -> str:
        networks = user.allowed_networks
        return ", ".join(networks[:2]) + (" …" if len(networks) > 2 else "") if networks else _now("any")

    @display(description=_("expires"), ordering="expires_at", label={"over": "danger", "later": "info"})
    def expiry(self, user: ApiUser) -> Any:
        if user.expires_at is None:
            return None
        if user.expires_at <= timezone.now():
            return "over", _now("expired")
        return "later", localize(timezone.localtime(user.expires_at).date())

    @admin.action(description=_("Enable"), permissions=["change"])
    def enable(self, request: HttpRequest, users: QuerySet[ApiUser]) -> None:
        said = ngettext_lazy("%(count)s API user enabled.", "%(count)s API users enabled.", "count")
        self._switch(request, users.filter(is_active=False), said, is_active=True)

    @admin.action(description=_("Disable"), permissions=["change"])
    @confirm_first(_("Their programs are refused from the next request on."), is_active=True)
    def disable(self, request: HttpRequest, users: QuerySet[ApiUser]) -> None:
        said = ngettext_lazy("%(count)s API user disabled.", "%(count)s API users disabled.", "count")
        self._switch(request, users.filter(is_active=True), said, is_active=False)

    def _switch(self, request: HttpRequest, users: QuerySet[ApiUser], said: Any, *, is_active: bool) -> None:
        may = []
        for user in users:
            if self.has_change_permission(request, user):
                may.append(user)
            else:
                sentence = _now("%(login)s was left as it is: it has rights that you cannot give.")
                self.message_user(request, sentence % {"login": user.login}, messages.ERROR)
        self.apply_and_say(request, may, partial(ApiUser.edit, is_active=is_active), said)

    # The page

    def page_context(self, request: HttpRequest, obj: ApiUser | None) -> dict[str, Any]:
        """Leave out the buttons on the page of an API user that is stronger."""
        context = super().page_context(request, obj)
        return context if self.has_change_permission(request, obj) else context | {"actions_detail": []}

    @display(description=_("authentication"))
    def credential(self, user: ApiUser) -> str:
        if user.password:
            return _now("a password that an operator set")
        until = user.previous_secret_expires_at
        if user.previous_secret_hash and until and until > timezone.now():
            return _now("a generated secret; the one before works until %(until)s") % {
                "until": localize(timezone.localtime(until))
            }
        return _now("a generated secret")

    def history_of(self, obj: ApiUser) -> list[Entry]:
        return [entry_of(change, _changes(change)) for change in obj.changes.all()[:SHOWN]]

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if change:
            values = {name: form.cleaned_data[name] for name in form.changed_data if name in EDITABLE}
            if values:
                obj.edit(actor_of(request), **values)
            return
        values = {name: form.cleaned_data[name] for name in EDITABLE}
        user, secret = ApiUser.create(actor_of(request), form.cleaned_data["login"], **values)
        obj.__dict__.update(user.__dict__)
        obj.new_secret = secret

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: str | None = None) -> HttpResponse:
        """Show the secret in the answer itself: no message, session, log or other page has it."""
        return self._secret_page(request, obj, obj.new_secret)

    def _secret_page(self, request: HttpRequest, user: ApiUser, secret: str) -> HttpResponse:
        intro = _now(
            "Copy the secret now and put it where the program keeps it. It is shown this once and can never be"
            " read again; if it is lost, make a new one."
        )
        title = _now("The secret of %(login)s") % {"login": user.login}
        return self.secret_page(request, user, secret, title=title, intro=intro, login=user.login)

    @page_action(description=_("New secret"), url_path="rotate-secret", icon="key", permissions=["change"])
    def rotate_secret(self, request: HttpRequest, object_id: str) -> HttpResponse:
        user = self.row_or_404(request, object_id)
        form = RotateForm.of(request)(request.POST or None, initial={"version": user.version, "overlap_hours": 24})
        if request.method == "POST" and form.is_valid():
            overlap = timedelta(hours=form.cleaned_data["overlap_hours"])
            try:
                secret = user.rotate_secret(actor_of(request), overlap, form.cleaned_data["version"])
            except Outdated:
                form.add_error(None, _("The API user was changed meanwhile, or this page was sent before."))
            else:
                self.log_change(request, user, [{"changed": {"fields": [_now("secret")]}}])
                return self._secret_page(request, user, secret)
        return self.action_page(
            request,
            title=_now("New secret"),
            submit=_now("Make a new secret"),
            form=form,
            obj=user,
            intro=_now("A new secret is made and shown once. A password that was set ends at once."),
        )

    @page_action(description=_("Set a password"), url_path="set-password", icon="password", permissions=["change"])
    def set_password(self, request: HttpRequest, object_id: str) -> HttpResponse:
        user = self.row_or_404(request, object_id)
        form = PasswordForm.of(request)(user, request.POST or None)
        if request.method == "POST" and form.is_valid():
            user.set_password(actor_of(request), form.cleaned_data["password"])
            self.log_change(request, user, [{"changed": {"fields": [_now("password")]}}])
            self.message_user(request, _("The password is set; secrets from before are over."), messages.SUCCESS)
            return redirect(self.url_of("change", user.pk))
        return self.action_page(
            request,
            title=_now("Set a password"),
            submit=_now("Set the password"),
            form=form,
            obj=user,
            intro=_now(
                "For programs that cannot take a generated secret. It replaces the secret at once, without overlap."
            ),
        )


def _changes(change: ApiUserChange) -> list[tuple[Any, Any, Any]]:
    """Return name, before and after of each change; of a new user only the values that are not empty."""
    names: dict[str, Any] = {field.name: field.verbose_name for field in ApiUser._meta.fields if field.name in EDITABLE}
    return [
        (names.get(name, name), in_words(old), in_words(new))
        for name, (old, new) in change.changes.items()
        if old is not None or new not in (None, "", [])
    ]


@admin.register(ApiUserChange)
class ApiUserChangeAdmin(ChangeMixin, ReadOnlyAdmin):
    list_filter = ("actor_kind",)
    search_fields = ("api_user__login", "actor_name")
    sortable_by = ("at",)
    prefetched = ("api_user",)  # no join: it may be deleted

    def changes_of(self, change: ApiUserChange) -> list[tuple[Any, Any, Any]]:
        return _changes(change)
