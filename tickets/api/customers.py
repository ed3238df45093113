from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.fields import IdField, ListField, TextField
from callcentre.api.filters import FilterSet, IdFilter, TextFilter
from callcentre.api.pagination import LimitOffset
from callcentre.api.serializers import Input
from callcentre.api.viewsets import ApiViewSet
from callcentre.core.lookups import get_or_404
from callcentre.core.phone import PhoneError, normalise
from callcentre.core.times import minute
from tickets.api.serializers import ValueMapField
from tickets.models import Company, Customer, CustomField
from tickets.verbs.customers import add_customer_note, create_company, create_customer


class PhoneNumbersField(ListField):
    """An array of numbers, or one number; "" is none."""

    def to_internal_value(self, data: Any) -> list[Any]:
        if isinstance(data, str) and not data.strip():
            return []
        return super().to_internal_value(data if isinstance(data, list) else [data])


class CustomerInput(Input):
    name = TextField(required=False, max_length=100)
    surname = TextField(max_length=100)
    email = TextField(required=False, max_length=254)
    phone_numbers = PhoneNumbersField(child=TextField(max_length=100), required=False, max_length=50)
    company_id = IdField(required=False)
    identifier = TextField(required=False, max_length=100)
    custom_fields = ValueMapField(required=False)


class CompanyInput(Input):
    name = TextField(max_length=200)


class NoteInput(Input):
    message = TextField(max_length=100_000)
    user_login = TextField(source="agent_login", required=False, max_length=100)


class PhoneFilter(TextFilter):
    """In any spelling; what is no number finds nothing."""

    def filter(self, queryset: QuerySet[Any], value: str) -> QuerySet[Any]:
        try:
            return queryset.filter(numbers__number=normalise(value))
        except PhoneError:
            return queryset.none()


class EmailFilter(TextFilter):
    def filter(self, queryset: Any, value: str) -> QuerySet[Any]:
        return queryset.found_by_email(value)  # type: ignore[no-any-return]


class IdentifierFilter(TextFilter):
    def filter(self, queryset: Any, value: str) -> QuerySet[Any]:
        return queryset.found_by_identifier(value)  # type: ignore[no-any-return]


class CustomerFilterSet(FilterSet):
    phone_number = PhoneFilter(help_text="One of the phone numbers, in any spelling.")
    email = EmailFilter(help_text="The e-mail address, also of a customer merged into another.")
    identifier = IdentifierFilter(help_text="The id of another system, also of a customer merged into another.")
    company_id = IdFilter("company", help_text="A company.")

    class Meta:
        model = Customer
        fields: list[str] = []


class CustomerViewSet(ApiViewSet):
    """Customers: the people whom the contact centre serves."""

    area = "customers"
    filterset_class = CustomerFilterSet

    def list(self, request: Request) -> Response:
        paginator = LimitOffset()
        customers = CustomerFilterSet.filtered(request, Customer.objects.current(), paginator.faults(request))
        page = paginator.paginate_queryset(customers.order_by("id"), request)
        return paginator.get_paginated_response(_customers_data(page))

    def retrieve(self, request: Request, customer_id: str) -> Response:
        return Response(_customers_data([customer_or_404(customer_id)])[0])

    def create(self, request: Request) -> Response:
        data: Any = request.data
        is_singular = isinstance(data, dict) and data.get("phone_numbers") in (None, "", []) and "phone_number" in data
        if is_singular:
            data["phone_numbers"] = data["phone_number"]
        values, faults = self.read(CustomerInput)
        if is_singular:
            self.wire_names = {**self.wire_names, "phone_numbers": "phone_number"}
        return Response({"customer_id": create_customer(self.actor, faults, **values).pk}, status=201)

    def add_note(self, request: Request, customer_id: str) -> Response:
        customer = customer_or_404(customer_id)
        values, faults = self.read(NoteInput)
        add_customer_note(customer, self.actor, faults, **values)
        return Response(status=204)


class CompanyViewSet(ApiViewSet):
    """Companies that customers belong to."""

    area = "customers"

    def list(self, request: Request) -> Response:
        companies = Company.objects.values_list("pk", "name")
        return Response([{"company_id": pk, "name": name} for pk, name in companies])

    def create(self, request: Request) -> Response:
        values, faults = self.read(CompanyInput)
        return Response({"company_id": create_company(self.actor, faults, **values).pk}, status=201)


def customer_or_404(customer_id: str) -> Customer:
    """Return the customer of this id, or the customer that it was merged into."""
    customer = get_or_404(Customer.objects.select_related("merged_into"), customer_id)
    return customer.merged_into or customer


def _customers_data(customers: Sequence[Customer]) -> list[dict[str, Any]]:
    fields = CustomField.objects.by_name(CustomField.Owner.CUSTOMER)
    keys_of = {name: str(field.pk) for name, field in fields.items()}
    numbers: dict[int, list[str]] = {customer.pk: [] for customer in customers}
    through = Customer.objects.filter(pk__in=numbers, numbers__isnull=False).order_by("numbers__id")
    for pk, phone_number in through.values_list("pk", "numbers__phone_number"):
        numbers[pk].append(phone_number)
    return [
        {
            "customer_id": customer.pk,
            "name": customer.name,
            "surname": customer.surname,
            "email": customer.email,
            "phone_number": next(iter(numbers[customer.pk]), ""),
            "phone_numbers": numbers[customer.pk],
            "company_id": customer.company_id,
            "identifier": customer.identifier,
            "custom_fields": {name: customer.custom_fields.get(key) for name, key in keys_of.items()},
            "created_at": minute(customer.created_at),
            "updated_at": minute(customer.updated_at),
        }
        for customer in customers
    ]
