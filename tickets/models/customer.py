"""Customers, the companies that they belong to, their phone numbers and notes."""

from typing import Any

from django.contrib.postgres.indexes import GinIndex, OpClass
from django.db import models
from django.db.models import Q
from django.db.models.functions import Coalesce, Now, Reverse, Upper
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.core.audit import audited
from callcentre.core.changes import Change, NamedModel, TimestampedModel
from callcentre.core.search import Name
from callcentre.core.statements import Statement
from telephony.models import Agent

# `perhaps_same` looks at so many customers at most.
MOST_ALIKE = 100


@audited()
class Company(NamedModel):
    """An organisation that customers belong to."""

    name = models.CharField(_("name"), max_length=200)

    class Meta:
        verbose_name = _("company")
        verbose_name_plural = _("companies")
        ordering = ["name", "id"]
        indexes = [
            models.Index(fields=["name", "id"], name="company_names"),
            GinIndex(OpClass(Name("name"), name="gin_trgm_ops"), name="company_plain_name"),
        ]


class CustomerQuerySet(models.QuerySet["Customer"]):
    def current(self) -> "CustomerQuerySet":
        """Return customers that were not merged into another one."""
        return self.filter(merged_into=None)

    def with_number(self, number: str) -> "CustomerQuerySet":
        """Return the customers with this number, in its normal form; oldest first."""
        return self.current().filter(numbers__number=number).order_by("id")

    def found_by_email(self, email: str) -> "CustomerQuerySet":
        """Return customers with this address, and those that a customer with it was merged into."""
        named = Customer.objects.filter(email__iexact=email).exclude(email="").order_by()
        # A query of its own uses the index of addresses. In a joined one the planner walks along the primary key.
        return self.filter(pk__in=list(named.values_list(Coalesce("merged_into", "pk"), flat=True)))

    def found_by_identifier(self, identifier: str) -> "CustomerQuerySet":
        """Return the customer with this identifier; if there is none, those that a customer with it was merged into."""
        named = Customer.objects.filter(identifier=identifier).exclude(identifier="").order_by()
        own = list(named.filter(merged_into=None).values_list("pk", flat=True))
        merged = named.exclude(merged_into=None).values_list("merged_into", flat=True)
        return self.filter(pk__in=own or list(merged))

    def hold(self, customer_id: int) -> "Customer | None":
        """Return the customer of this id, or the one that it was merged into. A lock keeps merges away."""
        return self._held("id = %s", customer_id)

    def hold_of_email(self, email: str) -> "Customer | None":
        """Return the oldest customer with this address, or the one that it was merged into; locked like `hold`."""
        # `+ 0` keeps the planner from walking along an index that has this order.
        order = "ORDER BY merged_into_id + 0 NULLS FIRST, id LIMIT 1"
        return self._held(f"UPPER(email) = UPPER(%s) AND email <> '' {order}", email)

    def _held(self, condition: str, value: Any) -> "Customer | None":
        rows = self.raw(
            Statement("SELECT * FROM tickets_customer WHERE {condition} FOR KEY SHARE").of(condition=condition), [value]
        )
        customer = next(iter(rows), None)
        return self.hold(customer.merged_into_id) if customer and customer.merged_into_id else customer


class Customer(TimestampedModel):
    """A person or an office that the contact centre serves.

    A merge (tickets.verbs.customers) moves tickets, calls, numbers and notes to another customer. The merged row
    stays as a pointer (`merged_into`), so that its old id and address still find the customer.
    """

    name = models.CharField(pgettext_lazy("of a person", "name"), max_length=100, blank=True)
    surname = models.CharField(_("surname"), max_length=100)
    # The verbs check it with tickets.addresses, because Django's EmailField refuses some addresses that mail allows.
    email = models.CharField(_("e-mail"), max_length=254, blank=True)
    company = models.ForeignKey(
        Company, models.PROTECT, null=True, blank=True, related_name="customers", verbose_name=_("company")
    )
    identifier = models.CharField(_("identifier"), max_length=100, blank=True)
    # An IANA name. Campaigns fed with customers call within its hours.
    time_zone = models.CharField(
        _("time zone"),
        max_length=64,
        blank=True,
        default="",
        db_default="",
        help_text=_("An IANA name, such as Europe/Warsaw. Empty: the zones of the phone number."),
    )
    # Id of the CustomField, as a string -> value. Fields without a value are absent.
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
            models.Index(OpClass(Upper("email"), "text_pattern_ops"), condition=~Q(email=""), name="customer_address"),
            models.Index(
                fields=["identifier"],
                condition=~Q(identifier="") & Q(merged_into__isnull=False),
                name="customer_merged_identifier",
            ),
            models.Index(fields=["surname", "name", "id"], name="customer_names"),
            models.Index(fields=["-created_at", "-id"], name="customer_created"),
            GinIndex(OpClass(Name("name", "surname"), name="gin_trgm_ops"), name="customer_plain_name"),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.surname}".strip()

    @property
    def phone_numbers(self) -> list[str]:
        """The phone numbers as they were given, the main one first."""
        return [number.phone_number for number in self.numbers.all()]

    @property
    def emails(self) -> list[str]:
        """The addresses of this customer, and of customers that were merged into it."""
        others = self.merged.exclude(email="").order_by("id").values_list("email", flat=True)
        return [*filter(None, [self.email]), *(email for email in others if email.lower() != self.email.lower())]

    def perhaps_same(self) -> "CustomerQuerySet":
        """Return other customers with one of the numbers or the address of this one."""
        # Separate queries use an index each. In a joined one the planner walks along the primary key.
        numbers = self.numbers.order_by().values("number")
        with_number = CustomerNumber.objects.filter(number__in=numbers).order_by().values_list("customer", flat=True)
        with_email = Customer.objects.current().filter(email__iexact=self.email).exclude(email="").order_by()
        ids = {*with_number[:MOST_ALIKE], *with_email.values_list("pk", flat=True)[:MOST_ALIKE]} - {self.pk}
        return Customer.objects.current().filter(pk__in=ids).order_by("id")


class CustomerNumber(models.Model):
    """A phone number of a customer, as it was given and in its normal form. The first row is the main number."""

    customer = models.ForeignKey(Customer, models.CASCADE, related_name="numbers", db_index=False)
    phone_number = models.CharField(_("phone number"), max_length=100)
    number = models.CharField(_("normal form"), max_length=64, editable=False)

    class Meta:
        verbose_name = _("phone number")
        verbose_name_plural = _("phone numbers")
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["customer", "number"], name="customernumber_is_unique")]
        indexes = [
            models.Index(fields=["number", "customer"], name="customernumber_number"),
            # For a search by the last digits.
            models.Index(OpClass(Reverse("number"), name="text_pattern_ops"), name="customernumber_ending"),
        ]

    def __str__(self) -> str:
        return self.phone_number


@audited(part_of="customer", secret=("message",))
class CustomerNote(models.Model):
    """A note about a customer. Written once, never changed."""

    customer = models.ForeignKey(
        Customer, models.CASCADE, related_name="notes", db_index=False, verbose_name=_("customer")
    )
    agent = models.ForeignKey(Agent, models.PROTECT, null=True, related_name="+", verbose_name=_("agent"))
    author_name = models.CharField(_("author"), max_length=150)
    message = models.TextField(_("note"))
    created_at = models.DateTimeField(_("created"), db_default=Now())

    class Meta:
        verbose_name = _("note")
        verbose_name_plural = _("notes")
        ordering = ["-id"]
        indexes = [models.Index(fields=["customer", "-created_at", "-id"], name="customernote_in_timeline")]

    def __str__(self) -> str:
        return self.message[:50]


class CustomerChange(Change):
    """An entry in the history of a customer: created, edited or merged, and by whom."""

    customer = models.ForeignKey(Customer, models.CASCADE, related_name="history", verbose_name=_("customer"))

    class Meta:
        verbose_name = _("change of a customer")
        verbose_name_plural = _("changes of customers")
        ordering = ["-id"]
        indexes = [models.Index(fields=["-at"], name="customerchange_at")]


@audited()
class CustomerSettings(models.Model):
    """The settings of customers: one row, written by a migration (docs/decisions/0017)."""

    creates_unknown = models.BooleanField(
        _("create customers of unknown senders and callers"),
        help_text=_(
            "The first mail from an unknown address and the first call from an unknown number create a customer. The"
            " surname is the name in the mail, else the address or the number."
        ),
    )

    class Meta:
        verbose_name = _("settings of customers")
        verbose_name_plural = _("settings of customers")
        ordering = ["id"]
        constraints = [models.CheckConstraint(name="customersettings_is_one_row", condition=Q(pk=1))]

    def __str__(self) -> str:
        return str(self._meta.verbose_name)
