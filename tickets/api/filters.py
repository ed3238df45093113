from typing import Any

from django.db.models import Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from callcentre.api.filters import FilterSet, IdFilter, IdListFilter, InstantFilter, MapFilter, TextFilter
from callcentre.core.errors import ErrorCode
from callcentre.core.parsing import Reject
from tickets.models import Customer, CustomField
from tickets.models.custom_field import WrongValue, parse
from tickets.models.ticket import PRIORITIES

_ORDERS = {"create_date": "created_at", "update_date": "updated_at"}


class CustomFieldsFilter(MapFilter):
    """Tickets that have, for each named field, one of the given values. An empty value means a field without a value. A
    value that the field cannot hold finds nothing.
    """

    def filter(self, queryset: QuerySet[Any], value: dict[str, list[str]]) -> QuerySet[Any]:
        fields = CustomField.objects.by_name(CustomField.Owner.TICKET)
        for name, texts in value.items():
            if name not in fields:
                return queryset.none()
            condition, field = Q(), fields[name]
            for text in texts:
                try:
                    parsed = parse(field, text)
                except WrongValue:
                    continue
                if parsed is None:
                    condition |= ~Q(custom_fields__has_key=str(field.pk))
                else:
                    condition |= Q(custom_fields__contains={str(field.pk): parsed})
            if not condition:
                return queryset.none()
            queryset = queryset.filter(condition)
        return queryset


class CustomerFilter(IdFilter):
    """Tickets of a customer, by its id or by the id of a customer that was merged into it."""

    def filter(self, queryset: QuerySet[Any], value: int) -> QuerySet[Any]:
        # A subquery by the primary key, so that the tickets are found by the index of their customer.
        current = Customer.objects.filter(pk=value).values(current=Coalesce("merged_into", "pk"))
        return queryset.filter(customer=Subquery(current))


class PriorityFilter(TextFilter):
    def filter(self, queryset: QuerySet[Any], value: str) -> QuerySet[Any]:
        priority = PRIORITIES.get(value)
        return queryset.filter(priority=priority) if priority else queryset.none()


class OrderFilter(TextFilter):
    def parse(self, text: str) -> Any:
        order = []
        for part in text.split(","):
            name = part.strip()
            column = _ORDERS.get(name.removeprefix("-"))
            if column is None:
                raise Reject(ErrorCode.NOT_CHOICE, choices=", ".join(_ORDERS))
            order.append(f"-{column}" if name.startswith("-") else column)
        # Rows with equal times are ordered by id, in the direction of the first field, because the index is.
        return [*order, "-id" if order[0].startswith("-") else "id"]

    def filter(self, queryset: QuerySet[Any], value: list[str]) -> QuerySet[Any]:
        return queryset.order_by(*value)


class TicketFilterSet(FilterSet):
    date_from = InstantFilter("updated_at", lookup_expr="gte", help_text="Changed at or after.")
    date_to = InstantFilter("updated_at", lookup_expr="lte", is_upper_bound=True, help_text="Changed at or before.")
    create_date_from = InstantFilter("created_at", lookup_expr="gte", help_text="Opened at or after.")
    create_date_to = InstantFilter(
        "created_at", lookup_expr="lte", is_upper_bound=True, help_text="Opened at or before."
    )
    company_id = IdFilter("customer__company", help_text="Tickets of customers of this company.")
    customer_id = CustomerFilter("customer", help_text="A customer, also one merged into another.")
    user_login = TextFilter("agent__login", help_text="Login of the agent who works on it.")
    source = TextFilter("source", help_text="By which way it came.")
    ticket_queue_id = IdFilter("queue", help_text="A ticket queue.")
    category_id = IdFilter("category", help_text="A category.")
    type_id = IdFilter("type", help_text="A type.")
    team_id = IdFilter("team", help_text="A team.")
    priority = PriorityFilter("priority", help_text="`low`, `normal`, `high` or `urgent`.")
    message_id = IdFilter("messages", help_text="The ticket that has this message.")
    status_id = IdListFilter("status", help_text="One or more statuses.")
    custom_fields = CustomFieldsFilter(
        help_text="`custom_fields[<name>]=<value>`, or `custom_fields[<name>][<n>]=<value>` for alternatives."
    )
    order = OrderFilter(
        help_text="`create_date` or `update_date`, with `-` for descending; several, separated by commas."
    )
