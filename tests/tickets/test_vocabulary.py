"""Conditions of the vocabulary: Python and SQL say the same of every ticket, and wrong ones are refused."""

from itertools import product
from typing import Any

import pytest

from tests.telephony.factories import AgentFactory
from tests.tickets.factories import (
    CompanyFactory,
    CustomerFactory,
    CustomFieldFactory,
    TeamFactory,
    TicketCategoryFactory,
    TicketFactory,
    TicketQueueFactory,
    TicketTypeFactory,
)
from tickets.models import Ticket
from tickets.models.vocabulary import Operator, check_of, facts, in_words

pytestmark = pytest.mark.django_db


def some_tickets() -> None:
    """Tickets that differ in every fact, and one that has as little as a ticket can have."""
    fields = {
        kind: str(CustomFieldFactory(name=kind, type=kind, options=["low", "high"]).pk)
        for kind in ("text", "number", "date", "choice", "choices", "boolean")
    }
    values: list[dict[str, Any]] = [
        {
            "text": "Łódź, Main",
            "number": 12,
            "date": "2026-11-20",
            "choice": "low",
            "choices": ["low"],
            "boolean": True,
        },
        {"text": "elsewhere", "number": 1.5, "choice": "high", "choices": ["low", "high"], "boolean": False},
        {},
    ]
    for number, given in enumerate(values):
        is_rich = bool(given)
        TicketFactory(
            subject=f"Parcel {number}" if is_rich else "x",
            sender=f"jan{number}@Client.example",
            source="email" if number else "phone",
            queue=TicketQueueFactory(),
            category=TicketCategoryFactory() if is_rich else None,
            type=TicketTypeFactory() if is_rich else None,
            team=TeamFactory() if is_rich else None,
            priority=1 + number,
            agent=AgentFactory() if is_rich else None,
            customer=CustomerFactory(company=CompanyFactory() if number else None) if is_rich else None,
            tags=["a", "b"][: 2 - number],
            custom_fields={fields[name]: value for name, value in given.items()},
        )


def test_a_condition_holds_in_python_and_in_sql_for_the_same_tickets() -> None:
    some_tickets()
    tickets = list(Ticket.objects.select_related("customer").order_by("pk"))
    tried = 0

    known = facts()
    for fact in known.values():
        texts = [value for value, _label in fact.choices()][:2] if fact.choices else ["a", "b", "parcel", "łódź", "1"]
        for operator, count in product(fact.operators, (1, 2)):
            values = texts[:count] if operator.takes_values else []
            check = check_of({"name": fact.name, "operator": operator, "values": values}, known)
            assert check is not None
            every = {other.changed for other in known.values()}

            found = set(Ticket.objects.filter(check.sql).values_list("pk", flat=True))

            assert found == {each.pk for each in tickets if check.holds(each, every)}, (fact.name, operator, values)
            tried += 1
    assert tried > 100


def test_what_became_was_changed_to_a_value_just_now() -> None:
    ticket = TicketFactory(priority=4)
    became = check_of({"name": "priority", "operator": "became", "values": ["urgent"]}, facts())
    assert became is not None

    assert (became.holds(ticket, {"priority"}), became.holds(ticket, {"queue"})) == (True, False)


def test_conditions_are_read_in_words_also_after_their_field_has_gone() -> None:
    field = CustomFieldFactory(name="Order")
    condition = {"name": f"field_{field.pk}", "operator": Operator.CONTAINS, "values": ["A-", "B-"]}

    said = in_words(condition, facts())
    field.is_active = False
    field.save()

    assert said == "field “Order” contains one of A-, B-"
    assert in_words(condition, facts()) == "a field that was removed"
    assert check_of(condition, facts()) is None
