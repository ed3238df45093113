"""The page of one person's data, the exports of such data, and legal holds."""

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import FileResponse, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, reverse
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import ChoicesDropdownFilter
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from callcentre.admin import Admin, ModelForm, UncountedMixin, actor_of, confirm_first, display
from callcentre.admin.base import REFUSALS
from callcentre.admin.jobs import FileJobAdmin
from callcentre.core import erasures, personal_data
from callcentre.core.deletions import LONGEST_REASON, ON_HOLD
from callcentre.core.errors import ErrorCode
from callcentre.core.legal_holds import LegalHold, end_hold
from callcentre.core.person_exports import PersonExport, ask_export
from callcentre.core.personal_data import Person
from tickets.people import begin_hold, find_person

_LINES = {"rows": 3}


class PersonForm(forms.Form):
    """A person, and the reason of an erasure."""

    fault_fields = {"customer_id": "customer"}

    customer = forms.IntegerField(
        label=_("Customer"),
        required=False,
        min_value=1,
        max_value=2**63 - 1,
        widget=UnfoldAdminIntegerFieldWidget(),
        help_text=_("The id. Numbers and addresses of the customer alone come by themselves."),
    )
    phone_numbers = forms.CharField(
        label=_("Phone numbers"),
        required=False,
        max_length=2_000,
        widget=UnfoldAdminTextareaWidget(attrs=_LINES),
        help_text=_("One a line: of a person who is no customer, or more of the customer's."),
    )
    emails = forms.CharField(
        label=_("Addresses"),
        required=False,
        max_length=10_000,
        widget=UnfoldAdminTextareaWidget(attrs=_LINES),
        help_text=_("E-mail addresses, one a line."),
    )
    reason = forms.CharField(
        label=_("Reason"),
        required=False,
        max_length=LONGEST_REASON,
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
        help_text=_("For an erasure. It is kept for good: name the request or the rule, no person."),
    )

    def find(self) -> Person:
        values = self.cleaned_data
        lists = {name: values[name].split("\n") for name in ("phone_numbers", "emails")}
        named = {name: [line.strip() for line in lines if line.strip()] for name, lines in lists.items()}
        return find_person(customer_id=values["customer"], **named)


@admin.register(PersonExport)
class PersonExportAdmin(UncountedMixin, FileJobAdmin):
    """The exports of personal data, for people who may erase it; and the page from which both begin."""

    has_own_history = True
    template = "admin/tickets/person_export.html"
    list_display = ("name", "state_label", "row_count", "actor_name", "created_at")
    list_display_links = ("name",)
    list_filter = (("state", ChoicesDropdownFilter),)

    def get_urls(self) -> list[URLPattern]:
        return [self.url_to("person/", self.person_view, "person"), *super().get_urls()]

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return erasures.may_erase(request.user) or bool(super().has_view_permission(request, obj))

    @display(description=_("file"))
    def name(self, export: PersonExport) -> str:
        return export.file_name

    def person_view(self, request: HttpRequest) -> HttpResponse:
        """Show what there is of a person; then ask for the export or the erasure of it."""
        if not erasures.may_erase(request.user):
            raise PermissionDenied
        given = request.POST or ({**request.GET.dict()} if "customer" in request.GET else None)
        form, found, obstacle = PersonForm(given), None, ""
        if form.is_valid():
            try:
                person = form.find()
                found = personal_data.found_of(person)
                obstacle = _now(ON_HOLD) if personal_data.has_held(person) else ""
                match request.POST.get("do"):
                    case "export":
                        return redirect(self.url_of("change", ask_export(actor_of(request), person).pk))
                    case "erase":
                        deletion = erasures.ask(actor_of(request), person, form.cleaned_data["reason"])
                        return redirect(reverse("admin:callcentre_deletion_change", args=[deletion.pk]))
            except REFUSALS as error:
                self.add_refusals(form, error)
        return self.page(
            request,
            "admin/tickets/person.html",
            None,
            title=_now("Data of a person"),
            media=self.media + form.media,
            form=form,
            found=found,
            obstacle=obstacle,
            is_read=found is not None,
        )

    def page_context(self, request: HttpRequest, obj: PersonExport) -> dict[str, Any]:
        return {
            "title": _now("Export of personal data"),
            "export": obj,
            "may_download": erasures.may_erase(request.user),
            "download_url": self.url_of("download", obj.pk),
        }

    def download_view(self, request: HttpRequest, pk: int) -> FileResponse:
        if not erasures.may_erase(request.user):
            raise PermissionDenied
        return super().download_view(request, pk)


class HoldForm(ModelForm):
    class Meta:
        model = LegalHold
        fields = ("kind", "object_id", "reason")

    def _post_clean(self) -> None:
        """Leave all rules to the verb."""


@admin.register(LegalHold)
class LegalHoldAdmin(UncountedMixin, Admin):
    """The list answers which customers and tickets may not be deleted, and why."""

    form = HoldForm
    actions = ("end",)
    list_display = ("shown", "reason", "begun_by", "begun_at", "ended_by", "ended_at")
    list_filter = (("kind", ChoicesDropdownFilter),)
    search_fields = ("object_id",)
    search_help_text = _("Id of a customer or ticket")
    sentences = {ErrorCode.LEGAL_HOLD: _("There is a legal hold on it already.")}

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Refuse changes of a hold; the right allows to end it."""
        return obj is None and bool(super().has_change_permission(request, obj))

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @display(description=_("legal hold"), ordering="object_id")
    def shown(self, hold: LegalHold) -> str:
        return str(hold)

    @admin.action(description=_("End the legal hold"), permissions=["change"])
    @confirm_first(_("A retention and a deletion may remove the data again."), ended_at=None)
    def end(self, request: HttpRequest, holds: QuerySet[LegalHold]) -> None:
        count = self.apply_to_each(request, holds, lambda hold: end_hold(actor_of(request), hold))
        self.say_done(request, _now("Ended: %(count)s."), count)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        values = form.cleaned_data
        hold = begin_hold(actor_of(request), values["kind"], values["object_id"], values["reason"])
        obj.pk = hold.pk
        obj.refresh_from_db()
