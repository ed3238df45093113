"""Customers of the company, the companies they are of, their numbers and notes."""

from django.contrib.postgres.indexes import GinIndex, OpClass
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now, Upper
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.models import Change, TimestampedModel
from telephony.models import Agent


class Company(TimestampedModel):
    """An organisation that customers belong to."""

    name = models.CharField(_("name"), max_length=200)

    class Meta:
        verbose_name = _("company")
        verbose_name_plural = _("companies")
        ordering = ["name", "id"]

    def __str__(self) -> str:
        return self.name


class CustomerQuerySet(models.QuerySet["Customer"]):
    def current(self) -> "CustomerQuerySet":
        """Without those that were merged into another."""
        return self.filter(merged_into=None)

    def with_number(self, number: str) -> "CustomerQuerySet":
        """Those with this number, in its normal form; oldest first."""
        return self.current().filter(numbers__number=number).order_by("id")

    def with_email(self, email: str) -> "CustomerQuerySet":
        return self.current().filter(email__iexact=email).order_by("id")


class Customer(TimestampedModel):
    """A person (or a desk) whom the contact centre serves; the CRM's entry.

    Merging moves tickets, numbers and notes to the one that stays and leaves the other behind as a pointer, so that
    an old id still leads somewhere.
    """

    name = models.CharField(pgettext_lazy("of a person", "name"), max_length=100, blank=True)
    surname = models.CharField(_("surname"), max_length=100)
    email = models.EmailField(_("e-mail"), blank=True)
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
            models.Index(fields=["surname", "name", "id"], name="customer_names"),
            GinIndex(
                OpClass(Upper("surname"), name="gin_trgm_ops"),
                OpClass(Upper("name"), name="gin_trgm_ops"),
                name="customer_search",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.surname}".strip()


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
