"""The page that makes an agent together with the back-office user who works as the agent."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.models import Group
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from unfold.widgets import (
    UnfoldAdminEmailInputWidget,
    UnfoldAdminPasswordWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
)

from callcentre.admin import Admin, user_of
from callcentre.admin.base import REFUSALS
from callcentre.admin.grant_limits import givable_groups
from callcentre.admin.scope import ScopeForm, offer_within, scope_field, scope_of
from callcentre.admin.secrets import OwnPasswordForm
from callcentre.admin.theme import ModelForm
from callcentre.core.roles import NAMES
from callcentre.core.scope import DIMENSIONS, Scope
from callcentre.models import User
from telephony.models import Agent

AGENT_FIELDS = ("login", "name", "surname", "email", "number", "group")


class RoleField(forms.ModelChoiceField):  # type: ignore[type-arg]
    """A role that the person at the page may give, by its translated name."""

    def label_from_instance(self, obj: Any) -> str:
        return str(NAMES.get(obj.name, obj.name))


class NewAgentForm(ScopeForm, OwnPasswordForm, ModelForm):
    """The agent, and the user with password, role and scope. Faults of both stand at their inputs."""

    has_user = forms.BooleanField(
        label=_("Logs in to the back office"),
        required=False,
        initial=True,
        widget=UnfoldBooleanSwitchWidget(),
        help_text=_("Makes a back-office user with this login, who works as the agent."),
    )
    password = forms.CharField(
        label=_("Password"),
        required=False,
        strip=False,
        max_length=500,
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"}),
    )
    role = RoleField(
        label=_("Role"),
        queryset=Group.objects.none(),
        required=False,
        widget=UnfoldAdminSelectWidget(),
        empty_label=_("none: the desk only"),
    )

    class Meta:
        model = Agent
        fields = AGENT_FIELDS
        widgets = {
            **{name: UnfoldAdminTextInputWidget() for name in ("login", "name", "surname", "number")},
            "email": UnfoldAdminEmailInputWidget(),
            "group": UnfoldAdminSelectWidget(),
        }

    def __init__(self, *args: Any, may_add_user: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        own: dict[str, Any] = self.fields
        if not may_add_user:
            for name in ("has_user", "password", "role", "own_password", *DIMENSIONS):
                own.pop(name, None)
            return
        own["role"].queryset = givable_groups(user_of(self.request)).order_by("name")
        own["role"].initial = own["role"].queryset.filter(name="Agent").first()
        for column in DIMENSIONS:
            own[column].required = False  # without a user nothing is given; `clean` asks otherwise

    @property
    def wants_user(self) -> bool:
        return bool(self.cleaned_data.get("has_user"))

    def is_sensitive(self) -> bool:
        return self.wants_user

    def clean(self) -> Any:
        cleaned = super().clean()
        if not self.wants_user:
            return cleaned
        login, password = self.cleaned_data.get("login", ""), self.cleaned_data.get("password", "")
        if User.objects.filter(username=login).exists():
            self.add_error("login", _("A back-office user with this login exists. Choose them on the agent's page."))
        for column, ids in self.scope.by_column.items():
            if ids is None and self.editors_scope.by_column[column] is not None:
                self.add_error(column, self.fields[column].error_messages["required"])
        self.user = User(
            username=login,
            is_staff=True,
            email=self.cleaned_data.get("email", ""),
            first_name=self.cleaned_data.get("name", ""),
            last_name=self.cleaned_data.get("surname", ""),
            **self.scope.by_column,
        )
        try:
            validate_password(password, self.user)
        except ValidationError as error:
            self.add_error("password", error)
        return cleaned

    @property
    def scope(self) -> Scope:
        chosen = (self.cleaned_data.get(column) for column in DIMENSIONS)
        return Scope(*(None if ids is None else tuple(ids) for ids in chosen))

    def write(self) -> Agent:
        agent: Agent = self.instance
        with transaction.atomic():
            if self.wants_user:
                self.user.set_password(self.cleaned_data["password"])
                self.user.full_clean(exclude=["password"])
                self.user.save(force_insert=True)
                if role := self.cleaned_data["role"]:
                    self.user.groups.add(role)
                agent.user = self.user
            agent.save(force_insert=True)
        return agent


def new_agent_view(admin: Admin, request: HttpRequest) -> HttpResponse:
    if not admin.has_add_permission(request):
        raise PermissionDenied
    may_add_user = all(request.user.has_perm(f"callcentre.{access}_user") for access in ("add", "change"))
    inputs = {column: scope_field(column) for column in DIMENSIONS}
    values = {"request": request, "editors_scope": scope_of(request), **inputs}
    form: NewAgentForm = type("NewAgentForm", (NewAgentForm,), values)(request.POST or None, may_add_user=may_add_user)
    offer_within(scope_of(request), form.fields)
    if request.method == "POST" and form.is_valid():
        try:
            agent = form.write()
        except REFUSALS as refusal:
            admin.add_refusals(form, refusal)
        else:
            admin.log_addition(request, agent, [{"added": {}}])
            admin.message_user(request, _now("%(agent)s is added.") % {"agent": agent}, messages.SUCCESS)
            return redirect(admin.url_of("change", agent.pk))
    return admin.action_page(
        request,
        title=_now("New agent"),
        submit=_now("Add the agent"),
        form=form,
        cancel_url=admin.url_of("changelist"),
        intro=_now("The agent, and the person who works as the agent, in one step."),
    )
