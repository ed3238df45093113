"""The receivers of replies to tickets of marketplaces."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminURLInputWidget

from callcentre.admin import actor_of, page_action
from callcentre.admin.secrets import OwnPasswordForm, password_inputs
from callcentre.core.audit import AuditAction, record
from callcentre.core.changes import store_edit
from tickets.admin.password_form import PasswordForm, StoredPassword
from tickets.models import Marketplace
from tickets.models.ticket import MARKETPLACES
from webhooks.admin.targets import TargetAdmin
from webhooks.signing import new_secret


class MarketplaceForm(PasswordForm):
    passwords = (StoredPassword("http_auth_password", ("url",)),)

    url = forms.URLField(label=_("Address"), assume_scheme="https", widget=UnfoldAdminURLInputWidget())

    class Meta:
        model = Marketplace
        fields = ("source", "url", "http_auth_user", "is_active")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        source: Any = self.fields.get("source")
        if source:
            source.choices = [(one.value, one.label) for one in MARKETPLACES]


@admin.register(Marketplace)
class MarketplaceAdmin(TargetAdmin):
    """The receiver of each marketplace, with its secret."""

    form = MarketplaceForm
    target_field = "url"
    list_display = ("source", "url", "is_active")
    actions_detail = ("show_secret", "new_secret")
    list_display_links = ("source",)
    fixed_fields = ("source",)

    def get_fieldsets(self, request: HttpRequest, obj: Marketplace | None = None) -> Any:
        may_change = self.has_change_permission(request, obj) if obj else True
        inputs = MarketplaceForm.inputs(obj, MarketplaceForm.passwords[0]) if may_change else []
        access = ["http_auth_user", *inputs, *(password_inputs(request) if obj and inputs else [])]
        return [
            (None, {"fields": ["source", "url", "is_active"]}),
            (_("Basic authentication"), {"fields": access}),
        ]

    @page_action(description=_("Show the secret"), url_path="secret", icon="visibility", permissions=["change"])
    def show_secret(self, request: HttpRequest, object_id: str) -> HttpResponse:
        marketplace = self.row_or_404(request, object_id)
        form = OwnPasswordForm.of(request)(request.POST if request.method == "POST" else None)
        if form.is_valid():
            record(actor_of(request), AuditAction.SHOW_SECRET, marketplace)
            return self.show_to_copy(request, marketplace, marketplace.secret)
        intro = _now("The receiver checks signatures with it.")
        return self.action_page(
            request, title=_now("Show the secret"), submit=_now("Show it"), form=form, obj=marketplace, intro=intro
        )

    @page_action(description=_("New secret"), url_path="new-secret", icon="key", permissions=["change"])
    def new_secret(self, request: HttpRequest, object_id: str) -> HttpResponse:
        marketplace = self.row_or_404(request, object_id)
        form = OwnPasswordForm.of(request)(request.POST if request.method == "POST" else None)
        if form.is_valid():
            store_edit(marketplace, secret=new_secret())
            self.log_change(request, marketplace, _now("New secret"))
            return self.show_to_copy(request, marketplace, marketplace.secret)
        intro = _now("What is sent from now on is signed with it; the old one ends at once.")
        return self.action_page(
            request, title=_now("New secret"), submit=_now("Make a new secret"), form=form, obj=marketplace, intro=intro
        )

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if not change:
            obj.save(force_insert=True)
        elif form.changed_data:
            obj.save(update_fields=[*form.touched(), "updated_at"])
