from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from callcentre.admin import Admin, UncountedMixin, actor_of, display, link
from tickets.models import Company, Customer
from tickets.verbs.customers import create_company


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
