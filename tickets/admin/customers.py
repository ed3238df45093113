"""The list and the page of customers: search, edit, add a note, merge."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from django.contrib import admin, messages
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from callcentre.admin import (
    Admin,
    DeletableMixin,
    HistoryMixin,
    UncountedMixin,
    actor_of,
    column,
    display,
    link,
    never,
    page_action,
)
from callcentre.admin.base import REFUSALS
from callcentre.admin.history import SHOWN, Entry, entry_of
from callcentre.admin.scope import AutocompleteSelectFilter, scope_of
from callcentre.core.errors import ErrorCode, Fault, Invalid
from callcentre.core.integers import integer_of
from tickets.admin import customer_forms, customer_search
from tickets.admin.custom_field_inputs import name_of
from tickets.admin.customer_forms import CustomerChoices, MergeForm, NoteForm
from tickets.admin.customer_history import ACTIONS, changes_of
from tickets.admin.customer_pages import call_view, contact_of, panels_of, preview_of, timeline_of, write_view
from tickets.models import Company, Customer, CustomerSettings, CustomField
from tickets.models.customer_fields import FORM_ROWS
from tickets.verbs.customers import add_customer_note, create_company, create_customer, edit_customer, merge_customers


@admin.register(Customer)
class CustomerAdmin(DeletableMixin, HistoryMixin, UncountedMixin, Admin):
    """Customers with their addresses, and on their pages the timeline of everything with them."""

    deletion_kind = "customer"
    list_display = ("full_name", "number", "email", "company", "identifier", "updated_at")
    list_display_links = ("full_name",)
    list_further = ("surname", "name", "all_numbers", "time_zone", "created_at", "id")
    list_filter = (("company", AutocompleteSelectFilter),)
    date_column = "created_at"
    list_select_related = ("company",)
    search_fields = ("surname",)
    search_help_text = _("Name, number in any spelling, e-mail, identifier or id")
    autocomplete_fields = ("company",)
    actions_detail = ("add_note", "merge")
    readonly_fields = ("numbers_shown", "created_at", "updated_at")
    change_form_before_template = "admin/tickets/customer_notice.html"
    change_form_outer_before_template = "admin/tickets/customer.html"
    sentences = {
        ErrorCode.CUSTOM_FIELD_OPTION: _("This is none of the options."),
        ErrorCode.NOT_NUMBER: _("This is no number."),
        ErrorCode.NOT_DATE: _("This is no date."),
    }

    full_name = column(str, description=_("customer"))
    all_numbers = column(lambda customer: ", ".join(customer.phone_numbers), description=_("phone numbers"))
    numbers_shown = column(lambda customer: ", ".join(customer.phone_numbers) or "–", description=_("phone numbers"))

    def get_urls(self) -> Any:
        choices = CustomerChoices.as_view(admin_site=self.admin_site)
        return [
            self.url_to("choices/", choices, "choices"),
            self.url_to("<path:object_id>/call/", partial(call_view, self), "call"),
            self.url_to("<path:object_id>/write/", partial(write_view, self), "write"),
            *super().get_urls(),
        ]

    # The list

    def get_queryset(self, request: HttpRequest) -> QuerySet[Customer]:
        customers = Customer.objects.select_related("company", "merged_into").prefetch_related("numbers")
        is_page = request.resolver_match and "object_id" in request.resolver_match.kwargs
        return customers if is_page else customers.current()

    def found(self, request: HttpRequest, rows: QuerySet[Customer], text: str) -> QuerySet[Customer]:
        most = customer_search.MAX_FOUND
        ids = customer_search.ids_found(text)
        return self.rows_found(request, rows, ids, most, is_cut=len(ids) == most)

    @display(description=_("phone number"))
    def number(self, customer: Customer) -> str:
        numbers = customer.phone_numbers
        return f"{numbers[0]} + {len(numbers) - 1}" if len(numbers) > 1 else "".join(numbers)

    # The page

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Customer | None:
        customer: Customer | None = super().get_object(request, object_id, from_field)
        if customer is not None:
            customer_forms.fill(customer, self._fields(request))
        return customer

    def _fields(self, request: HttpRequest) -> list[CustomField]:
        """Return the custom fields of customers. The request keeps them, so that a page reads them once."""
        kept = vars(request)
        if "custom_fields" not in kept:
            kept["custom_fields"] = list(CustomField.objects.of(CustomField.Owner.CUSTOMER))
        return kept["custom_fields"]  # type: ignore[no-any-return]

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Refuse to change a customer who was merged into another one."""
        if isinstance(obj, Customer) and obj.merged_into_id:
            return False
        return bool(super().has_change_permission(request, obj))

    def get_form(self, request: HttpRequest, obj: Customer | None = None, change: bool = False, **kwargs: Any) -> Any:
        kwargs["form"] = customer_forms.form_class(self._fields(request), obj)
        return super().get_form(request, obj, change=change, **kwargs)

    def get_fieldsets(self, request: HttpRequest, obj: Customer | None = None) -> Any:
        fieldsets: list[Any] = [(None, {"fields": FORM_ROWS})]
        may_change = self.has_change_permission(request, obj) if obj else True
        fieldsets.append((_("Reached at"), {"fields": ["phone_numbers" if may_change else "numbers_shown"]}))
        if names := [name_of(custom) for custom in self._fields(request)]:
            fieldsets.append((_("Custom fields"), {"fields": names}))
        if obj:
            fieldsets.append((_("Dates"), {"fields": [("created_at", "updated_at")]}))
        return fieldsets

    def history_of(self, obj: Customer) -> list[Entry]:
        changes = list(obj.history.all()[:SHOWN])
        return [entry_of(*pair, ACTIONS) for pair in zip(changes, changes_of(changes), strict=True)]

    def page_context(self, request: HttpRequest, obj: Customer | None) -> dict[str, Any]:
        context = super().page_context(request, obj)
        if obj is None or obj.merged_into_id:
            return context
        context["has_merge_permission"] = self.has_merge_permission(request, obj)
        return context | panels_of(obj) | contact_of(request, obj) | timeline_of(request, obj)

    # Saving

    def save_form(self, request: HttpRequest, form: Any, change: bool) -> Any:
        """Leave the customer as stored: only the verb changes it."""
        return form.instance

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        values = form.values()
        try:
            if not change:
                obj.__dict__.update(create_customer(actor_of(request), **values).__dict__)
            elif values:
                edit_customer(Customer.objects.get(pk=obj.pk), actor_of(request), **values)
        except Invalid as refused:
            fields = self._fields(request)
            raise Invalid(
                Fault(fault.code, customer_forms.form_field_of(fault.field, fields), fault.params)
                for fault in refused.faults
            ) from refused

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Save nothing: the verb has written everything."""

    # What can be done with a customer

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Refuse people with a scope: a deletion takes tickets and calls of all queues along."""
        return super().has_delete_permission(request, obj) and scope_of(request).is_all

    def has_merge_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Refuse people with a scope: a merge moves tickets and calls of all queues."""
        return self.has_change_permission(request, obj) and scope_of(request).is_all

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> Any:
        pk = integer_of(str(object_id))
        is_current = pk is not None and Customer.objects.current().filter(pk=pk).exists()
        return super().get_actions_detail(request, object_id) if is_current else []

    @page_action(description=_("Add a note"), url_path="note", icon="add_notes", permissions=["change"])
    def add_note(self, request: HttpRequest, object_id: str) -> HttpResponse:
        customer, form = self.row_or_404(request, object_id), NoteForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            add_customer_note(customer, actor_of(request), message=form.cleaned_data["message"])
            self.message_user(request, _now("The note was added."), messages.SUCCESS)
            return redirect(self.url_of("change", customer.pk))
        return self.action_page(request, title=_now("Add a note"), submit=_now("Add"), form=form, obj=customer)

    @page_action(description=_("Merge"), url_path="merge", icon="merge", permissions=["merge"])
    def merge(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask for the customer who stays, show the result, and merge after confirmation."""
        customer = self.row_or_404(request, object_id)
        given = request.POST or ({"target": request.GET["target"]} if "target" in request.GET else None)
        form = MergeForm(customer, given)
        if form.is_valid():
            target = form.cleaned_data["target"]
            if request.method == "POST" and form.is_confirmed:
                return self._merged(request, customer, target)
            return self._preview(request, customer, target)
        return self.action_page(
            request,
            title=_now("Merge"),
            submit=_now("Show what happens"),
            form=form,
            obj=customer,
            intro=_now("All that %(customer)s has goes to another customer, and the number and address lead there.")
            % {"customer": customer},
        )

    def _merged(self, request: HttpRequest, customer: Customer, target: Customer) -> HttpResponse:
        try:
            merge_customers(customer, target, actor_of(request))
        except REFUSALS as error:
            self.say_refused(request, error)
            return redirect(self.url_of("change", customer.pk))
        said = _now("%(customer)s was merged into this customer.") % {"customer": customer}
        self.message_user(request, said, messages.SUCCESS)
        return redirect(self.url_of("change", target.pk))

    def _preview(self, request: HttpRequest, customer: Customer, target: Customer) -> HttpResponse:
        return self.page(
            request,
            "admin/tickets/customer_merge.html",
            customer,
            title=_now("Merge"),
            source=customer,
            target=target,
            preview=preview_of(customer, target, scope_of(request)),
            swap_url=f"{self.url_of('merge', target.pk)}?target={customer.pk}",
            cancel_url=self.url_of("change", customer.pk),
        )


@admin.register(CustomerSettings)
class CustomerSettingsAdmin(Admin):
    """The setting that makes customers of unknown senders and callers."""

    list_display = ("__str__", "creates_unknown")
    fields = ("creates_unknown",)
    has_add_permission = has_delete_permission = never


@admin.register(Company)
class CompanyAdmin(UncountedMixin, Admin):
    """The organisations that customers belong to."""

    list_display = ("name", "customers_count", "created_at")
    list_display_links = ("name",)
    search_fields = ("name",)
    search_help_text = _("Part of the name")
    readonly_fields = ("customers_link", "created_at")

    def get_fields(self, request: HttpRequest, obj: Company | None = None) -> Any:
        return ("name", *(("customers_link", "created_at") if obj else ()))

    def complete_rows(self, rows: Sequence[Any]) -> None:
        count_customers([*rows])

    def found(self, request: HttpRequest, rows: QuerySet[Company], text: str) -> QuerySet[Company]:
        """Search for the whole text: the index takes one condition only."""
        return rows.filter(name__icontains=text)

    @display(description=_("customers"))
    def customers_count(self, company: Any) -> int:
        count: int = company.customer_count
        return count

    @display(description=_("customers"))
    def customers_link(self, company: Company) -> str:
        count_customers([company])
        url = f"{reverse('admin:tickets_customer_changelist')}?company__id__exact={company.pk}"
        return link(url, self.customers_count(company))

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if change:
            super().save_model(request, obj, form, change)
        else:
            obj.__dict__.update(create_company(actor_of(request), name=form.cleaned_data["name"]).__dict__)


def count_customers(companies: Any) -> None:
    """Count the customers of the companies of a page, in one query."""
    found = Customer.objects.current().filter(company__in=[company.pk for company in companies]).order_by()
    counts = dict(found.values_list("company").annotate(count=Count("pk")))
    for company in companies:
        company.customer_count = counts.get(company.pk, 0)
