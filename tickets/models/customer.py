"""Customers of the company, the companies they are of, their numbers and notes."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib.postgres.indexes import GinIndex, OpClass
from django.db import models, transaction
from django.db.models import Q
from django.db.models.functions import Coalesce, Now, Upper
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.core.actor import Actor
from callcentre.core.errors import Conflict, ErrorCode, Fault, Invalid, check_lines, numbered
from callcentre.core.phone import PhoneError, normalise
from callcentre.models import Change, TimestampedModel, actor_columns, differences, still_there
from telephony.models import Agent
from tickets import events
from tickets.addresses import is_address
from tickets.models import custom_values
from tickets.models.custom_field import CustomField

# Of customers who are perhaps one person so many are looked at.
MOST_ALIKE = 100


class Company(TimestampedModel):
    """An organisation that customers belong to."""

    name = models.CharField(_("name"), max_length=200)

    class Meta:
        verbose_name = _("company")
        verbose_name_plural = _("companies")
        ordering = ["name", "id"]
        indexes = [
            models.Index(fields=["name", "id"], name="company_names"),
            GinIndex(OpClass(Upper("name"), name="gin_trgm_ops"), name="company_search"),
        ]

    def __str__(self) -> str:
        return self.name

    @classmethod
    def create(cls, actor: Actor, faults: Sequence[Fault] = (), *, name: str = "") -> "Company":
        if faults:
            raise Invalid(faults)
        return cls.objects.create(name=name)


class CustomerQuerySet(models.QuerySet["Customer"]):
    def current(self) -> "CustomerQuerySet":
        """Without those that were merged into another."""
        return self.filter(merged_into=None)

    def with_number(self, number: str) -> "CustomerQuerySet":
        """Those with this number, in its normal form; oldest first."""
        return self.current().filter(numbers__number=number).order_by("id")

    def with_email(self, email: str) -> "CustomerQuerySet":
        return self.current().filter(email__iexact=email).exclude(email="").order_by("id")

    def found_by_email(self, email: str) -> "CustomerQuerySet":
        """Those with this address, and those into whom a customer with it was merged."""
        named = Customer.objects.filter(email__iexact=email).exclude(email="").order_by()
        # Found first, by the index of addresses: a planner would rather walk along the primary key.
        return self.filter(pk__in=list(named.values_list(Coalesce("merged_into", "pk"), flat=True)))

    def found_by_identifier(self, identifier: str) -> "CustomerQuerySet":
        """The one with this identifier; where there is none, those into whom a customer with it was merged."""
        named = Customer.objects.filter(identifier=identifier).exclude(identifier="").order_by()
        own = list(named.filter(merged_into=None).values_list("pk", flat=True))
        merged = named.exclude(merged_into=None).values_list("merged_into", flat=True)
        return self.filter(pk__in=own or list(merged))

    def hold(self, customer_id: int) -> "Customer | None":
        """The customer of this id, or the one he was merged into; no merge takes him away in this transaction."""
        return self._held("id = %s", customer_id)

    def hold_of_email(self, email: str) -> "Customer | None":
        """The oldest with this address, or the one whom somebody with it was merged into; held likewise."""
        # The sum keeps the planner from walking along an index that has this order.
        order = "ORDER BY merged_into_id + 0 NULLS FIRST, id LIMIT 1"
        return self._held(f"UPPER(email) = UPPER(%s) AND email <> '' {order}", email)

    def _held(self, condition: str, value: Any) -> "Customer | None":
        rows = self.raw(f"SELECT * FROM tickets_customer WHERE {condition} FOR KEY SHARE", [value])  # noqa: S608
        customer = next(iter(rows), None)
        return self.hold(customer.merged_into_id) if customer and customer.merged_into_id else customer


class Customer(TimestampedModel):
    """A person (or a desk) whom the contact centre serves; the CRM's entry.

    Merging (tickets.models.merging) moves tickets, calls, numbers and notes to the one that stays and leaves the other
    behind as a pointer, so that an old id and an old address still lead somewhere.
    """

    name = models.CharField(pgettext_lazy("of a person", "name"), max_length=100, blank=True)
    surname = models.CharField(_("surname"), max_length=100)
    # Judged by tickets.addresses in the verbs: Django's field for addresses refuses some that mail allows.
    email = models.CharField(_("e-mail"), max_length=254, blank=True)
    company = models.ForeignKey(
        Company, models.PROTECT, null=True, blank=True, related_name="customers", verbose_name=_("company")
    )
    identifier = models.CharField(_("identifier"), max_length=100, blank=True)
    # CustomField id, as a string -> value. Fields without a value are absent.
    custom_fields = models.JSONField(_("custom fields"), default=dict, blank=True)
    merged_into = models.ForeignKey("self", models.PROTECT, null=True, related_name="merged", editable=False)

    objects = CustomerQuerySet.as_manager()

    class Meta:
        verbose_name = _("customer")
        verbose_name_plural = _("customers")
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["identifier"],
                condition=~Q(identifier="") & Q(merged_into=None),
                name="customer_identifier_is_unique",
                violation_error_message=_("Another customer has this identifier."),
            )
        ]
        indexes = [
            models.Index(Upper("email"), condition=~Q(email=""), name="customer_email"),
            models.Index(
                fields=["identifier"],
                condition=~Q(identifier="") & Q(merged_into__isnull=False),
                name="customer_merged_identifier",
            ),
            models.Index(fields=["surname", "name", "id"], name="customer_names"),
            GinIndex(
                OpClass(Upper("surname"), name="gin_trgm_ops"),
                OpClass(Upper("name"), name="gin_trgm_ops"),
                name="customer_search",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.surname}".strip()

    @property
    def phone_numbers(self) -> list[str]:
        """As they were given, the main one first."""
        return [number.phone_number for number in self.numbers.all()]

    @property
    def emails(self) -> list[str]:
        """His own, and those of customers who were merged into him."""
        others = self.merged.exclude(email="").order_by("id").values_list("email", flat=True)
        return [*filter(None, [self.email]), *(email for email in others if email.lower() != self.email.lower())]

    def perhaps_same(self) -> "CustomerQuerySet":
        """Others with one of his numbers or his address."""
        # Found apart, each by its index: a planner would rather walk along the primary key.
        numbers = self.numbers.order_by().values("number")
        with_number = CustomerNumber.objects.filter(number__in=numbers).order_by().values_list("customer", flat=True)
        with_email = Customer.objects.with_email(self.email).order_by().values_list("pk", flat=True)
        ids = {*with_number[:MOST_ALIKE], *with_email[:MOST_ALIKE]} - {self.pk}
        return Customer.objects.current().filter(pk__in=ids).order_by("id")

    @classmethod
    def create(
        cls,
        actor: Actor,
        faults: Sequence[Fault] = (),
        *,
        phone_numbers: Sequence[str] = (),
        custom_fields: Mapping[str, Any] | None = None,
        **values: Any,
    ) -> "Customer":
        """A new customer with numbers and custom fields (by their names). Raises Invalid with every fault."""
        faults = list(faults)
        numbers = _normal_forms(phone_numbers, faults)
        with transaction.atomic():
            kept, wrong = custom_values.read(CustomField.Owner.CUSTOMER, custom_fields or {}, {})
            _check(cls(), values, faults)
            if faults := faults + wrong:
                raise Invalid(faults)
            customer = cls.objects.create(custom_fields=kept, **values)
            customer.set_numbers(numbers)
            customer.log(actor, "create", {})
            events.customer_created(customer.pk, customer.company_id)
        return customer

    def edit(
        self,
        actor: Actor,
        faults: Sequence[Fault] = (),
        *,
        phone_numbers: Sequence[str] | None = None,
        custom_fields: Mapping[str, Any] | None = None,
        **values: Any,
    ) -> None:
        """Change what is given; numbers are replaced all together, custom fields (by their names) each by itself."""
        faults = list(faults)
        numbers = None if phone_numbers is None else _normal_forms(phone_numbers, faults)
        with transaction.atomic():
            locked = still_there(Customer.objects.select_for_update(no_key=True).filter(pk=self.pk))
            if locked.merged_into_id is not None:
                raise Conflict(ErrorCode.CUSTOMER_MERGED)
            kept, wrong = custom_values.read(CustomField.Owner.CUSTOMER, custom_fields or {}, locked.custom_fields)
            _check(self, values, faults)
            if faults := faults + wrong:
                raise Invalid(faults)
            values = {**values, "custom_fields": kept}
            changes = differences(locked, values)
            before = locked.phone_numbers
            if numbers is not None and [raw for raw, _number in numbers] != before:
                changes["phone_numbers"] = [before, [raw for raw, _number in numbers]]
                locked.set_numbers(numbers)
            if not changes:
                return
            for name, value in values.items():
                setattr(self, name, value)
            self.save(update_fields=[*values, "updated_at"])
            self.log(actor, "edit", changes)
            events.customer_updated(self.pk, self.company_id)

    def add_note(
        self, actor: Actor, faults: Sequence[Fault] = (), *, message: str = "", agent_login: str = ""
    ) -> "CustomerNote":
        faults = list(faults)
        with transaction.atomic():
            locked = still_there(Customer.objects.select_for_update(no_key=True).filter(pk=self.pk))
            agent = Agent.objects.active().filter(login=agent_login).first() if agent_login else None
            if agent_login and agent is None:
                faults.append(Fault(ErrorCode.AGENT_NOT_FOUND, "agent_login"))
            if faults:
                raise Invalid(faults)
            author = agent.full_name or agent.login if agent else actor.name
            note = CustomerNote.objects.create(
                customer_id=locked.merged_into_id or locked.pk, agent=agent, author_name=author, message=message
            )
            events.note_added(note.customer_id, note.pk, agent_login)
        return note

    def set_numbers(self, numbers: Sequence[tuple[str, str]]) -> None:
        self.numbers.all().delete()
        self.numbers.bulk_create(
            CustomerNumber(customer=self, phone_number=raw, number=number) for raw, number in numbers
        )

    def log(self, actor: Actor, action: str, changes: dict[str, Any]) -> None:
        self.history.create(action=action, changes=changes, **actor_columns(actor))


def _normal_forms(phone_numbers: Sequence[str], faults: list[Fault]) -> list[tuple[str, str]]:
    """(as given, normal form), each number once; what is no number is added to the faults."""
    found: dict[str, str] = {}
    for position, raw in numbered(phone_numbers):
        try:
            found.setdefault(normalise(raw), raw)
        except PhoneError as error:
            faults.append(error.fault(f"phone_numbers.{position}"))
    return [(raw, number) for number, raw in found.items()]


def _check(customer: Customer, values: Mapping[str, Any], faults: list[Fault]) -> None:
    company_id, identifier = values.get("company_id"), values.get("identifier")
    if company_id is not None and not Company.objects.filter(pk=company_id).exists():
        faults.append(Fault(ErrorCode.COMPANY_NOT_FOUND, "company_id"))
    if (email := values.get("email")) and not is_address(email):
        faults.append(Fault(ErrorCode.ADDRESS_MALFORMED, "email"))
    others = Customer.objects.current().exclude(pk=customer.pk)
    faults += check_lines(identifier=identifier or "")
    if identifier and others.filter(identifier=identifier).exists():
        faults.append(Fault(ErrorCode.CUSTOMER_IDENTIFIER_TAKEN, "identifier"))


class CustomerNumber(models.Model):
    """A phone number of a customer, as it was given and in its normal form. The first is the main one."""

    customer = models.ForeignKey(Customer, models.CASCADE, related_name="numbers", db_index=False)
    phone_number = models.CharField(_("phone number"), max_length=100)
    number = models.CharField(_("normal form"), max_length=64, editable=False)

    class Meta:
        verbose_name = _("phone number")
        verbose_name_plural = _("phone numbers")
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["customer", "number"], name="customernumber_is_unique")]
        indexes = [models.Index(fields=["number", "customer"], name="customernumber_number")]

    def __str__(self) -> str:
        return self.phone_number


class CustomerNote(models.Model):
    """What somebody noted about a customer. Written once."""

    customer = models.ForeignKey(Customer, models.CASCADE, related_name="notes", verbose_name=_("customer"))
    agent = models.ForeignKey(Agent, models.PROTECT, null=True, related_name="+", verbose_name=_("agent"))
    author_name = models.CharField(_("author"), max_length=150)
    message = models.TextField(_("note"))
    created_at = models.DateTimeField(_("created"), db_default=Now())

    class Meta:
        verbose_name = _("note")
        verbose_name_plural = _("notes")
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.message[:50]


class CustomerChange(Change):
    """What happened to a customer: created, edited, merged; who did it."""

    customer = models.ForeignKey(Customer, models.CASCADE, related_name="history", verbose_name=_("customer"))

    class Meta:
        verbose_name = _("change of a customer")
        verbose_name_plural = _("changes of customers")
        ordering = ["-id"]
