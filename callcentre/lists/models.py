from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone, translation
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop, pgettext_lazy

from callcentre.core.audit import audited
from callcentre.core.changes import AskedFor, AskedForQuerySet
from callcentre.core.due_work import DueQuerySet, DueWork, Retries
from callcentre.core.exporting.jobs import FileJob
from callcentre.models import ScopeColumns, User

# The right to see and cancel the exports and actions of all people.
SEES_ALL = "lists.see_all_list_jobs"


def sees_all(user: Any) -> bool:
    """Return whether the person sees the exports and actions of all people: a reader of the audit log does, too."""
    return bool(user.has_perm(SEES_ALL) or user.has_perm("callcentre.view_auditlog"))


class ListExport(ScopeColumns, FileJob):
    """A list of the admin as a file, with the rows and cells that the person would see on all its pages.

    Its scope is the one within which the worker read the rows. NULL in all columns also stands for exports from before
    these columns: their files can hold any row.
    """

    folder = "lists"
    task = "lists.build_exports"

    # Label of the model, such as "tickets.ticket".
    list_name = models.CharField(_("list"), max_length=100)
    list_title = models.CharField(_("list"), max_length=200)
    # Filters, search, order and columns, as in the address of the list.
    query = models.TextField(blank=True)
    # The number of rows at which the search stopped; NULL if it found all.
    search_limit = models.PositiveIntegerField(null=True, editable=False)

    class Meta:
        verbose_name = _("export of a list")
        verbose_name_plural = _("exports of lists")
        ordering = ["-id"]
        default_permissions = ("add", "view")
        indexes = [
            models.Index(fields=["id"], condition=Q(state__in=["queued", "running"]), name="listexport_waiting"),
            models.Index(fields=["actor_id", "-id"], name="listexport_of_user"),
        ]

    @property
    def file_name(self) -> str:
        asked = timezone.localtime(self.created_at)
        return f"{self.list_name.rpartition('.')[2]}-{asked:%Y-%m-%d-%H%M}-{self.pk}.{self.format}"


class ListActionQuerySet(AskedForQuerySet, DueQuerySet):  # type: ignore[override]  # as_manager, made by the plugin
    def waiting(self) -> "ListActionQuerySet":
        return self.filter(ListAction.waits)


class ListAction(AskedFor, ScopeColumns, DueWork):
    """An action of a list on all rows that match its filters and search, done by a worker.

    The worker stores the ids that match (`ids`) once, in their order, and then takes them in portions: the rows of a
    portion, its results and its `place` among the ids are one transaction. Its scope is the one within which the ids
    were found: the report names rows.
    """

    waits = Q(state__in=["queued", "running"])
    delays = Retries.JOB
    task = "lists.run_action"

    class State(models.TextChoices):
        QUEUED = "queued", _("queued")
        RUNNING = "running", _("running")
        FINISHED = "finished", _("finished")
        CANCELLED = "cancelled", _("cancelled")
        FAILED = "failed", _("failed")

    list_name = models.CharField(_("list"), max_length=100)
    list_title = models.CharField(_("list"), max_length=200)
    query = models.TextField(blank=True)
    # The number of rows at which the search stopped; NULL if it found all.
    search_limit = models.PositiveIntegerField(null=True, editable=False)
    action = models.CharField(max_length=100)
    action_title = models.CharField(_("action"), max_length=200)
    # The form of the action as it was sent, and what the action found out about all rows.
    form = models.TextField(blank=True)
    facts = models.JSONField(default=dict)
    language = models.CharField(max_length=10)

    state = models.CharField(_("state"), max_length=10, choices=State, default=State.QUEUED)
    # Set by a person; the worker ends the action after its portion.
    is_cancelled = models.BooleanField(default=False)
    ids = ArrayField(models.TextField(), null=True, editable=False)
    total_count = models.PositiveIntegerField(_("rows that matched"), null=True)
    place = models.PositiveIntegerField(default=0)
    done_count = models.PositiveIntegerField(_("changed rows"), default=0)
    # Rows to which the action was applied, or need not be, and which it left as they were.
    unchanged_count = models.PositiveIntegerField(_("needed no change"), default=0, db_default=0)
    refused_count = models.PositiveIntegerField(_("refused"), default=0)
    skipped_count = models.PositiveIntegerField(_("no longer matched"), default=0)
    # Sentence -> the number of refused rows, and the names of some of them.
    refusals = models.JSONField(default=dict)
    message = models.TextField(pgettext_lazy("of an error", "message"), blank=True)
    # Starts without a portion in between.
    attempt_count = models.PositiveSmallIntegerField(default=0, db_column="failure_count")
    # Of an action that a web server of the release before asks for: the database says now.
    next_attempt_at = models.DateTimeField(null=True, editable=False, default=timezone.now, db_default=Now())
    request_id = models.CharField(max_length=64, blank=True, editable=False)
    # The address of the request that asked, for what the worker writes into histories.
    actor_address = models.GenericIPAddressField(null=True, editable=False)
    created_at = models.DateTimeField(_("asked for"), db_default=Now(), editable=False)
    started_at = models.DateTimeField(_("started"), null=True, editable=False)
    finished_at = models.DateTimeField(_("finished"), null=True, editable=False)

    objects = ListActionQuerySet.as_manager()

    class Meta:
        verbose_name = _("action on a list")
        verbose_name_plural = _("actions on lists")
        ordering = ["-id"]
        default_permissions = ("view",)
        permissions = [
            ("see_all_list_jobs", gettext_noop("Can see and cancel exports and actions on lists of all people"))
        ]
        indexes = [
            models.Index(fields=["id"], condition=Q(state__in=["queued", "running"]), name="listaction_waiting"),
            models.Index(fields=["actor_id", "-id"], name="listaction_of_user"),
        ]

    def __str__(self) -> str:
        return f"{self.list_title}: {self.action_title}"

    @property
    def has_ended(self) -> bool:
        return self.state not in (self.State.QUEUED, self.State.RUNNING)

    def given_up(self, error: str) -> dict[str, Any]:
        with translation.override(self.language):
            said = error or _("The action was started %s times and ended early each time.") % self.attempt_count
            return {**self.ended(self.State.FAILED), "message": str(said)}

    def ended(self, state: str) -> dict[str, Any]:
        """Return the columns of the end, without the ids: there may be a million of them, and the row stays."""
        return {"state": state, "finished_at": timezone.now(), "ids": None}

    @property
    def percent(self) -> int:
        if not self.total_count:
            return 100 if self.has_ended else 0
        return 100 * self.place // self.total_count

    @property
    def row_count(self) -> int:
        """The number of rows that are dealt with, as the page of a job shows it."""
        return self.place

    @property
    def left_count(self) -> int:
        return (self.total_count or 0) - self.place


class SavedViewQuerySet(models.QuerySet["SavedView"]):
    def for_person(self, user: User, list_name: str) -> "SavedViewQuerySet":
        """Return the person's own views of a list, and those that others share."""
        return self.filter(Q(user=user) | Q(is_shared=True), list_name=list_name)


@audited(secret=("query",))  # it has the words that people searched for
class SavedView(models.Model):
    """Filters, search, order and columns of a list under a name, for one person or for all who may see the list."""

    user = models.ForeignKey(User, models.CASCADE, related_name="+")
    list_name = models.CharField(max_length=100)
    name = models.CharField(_("name"), max_length=100)
    query = models.TextField(blank=True)
    is_shared = models.BooleanField(_("shared"), default=False)

    objects = SavedViewQuerySet.as_manager()

    class Meta:
        verbose_name = _("saved view of a list")
        verbose_name_plural = _("saved views of lists")
        ordering = ["name", "id"]
        default_permissions = ()
        permissions = [("share_savedview", gettext_noop("Can share saved views of lists"))]
        constraints = [
            models.UniqueConstraint(
                fields=["user", "list_name", "name"],
                name="savedview_name_is_unique",
                violation_error_message=_("You have a view of this name."),
            )
        ]

    def __str__(self) -> str:
        return self.name


class DefaultView(models.Model):
    """The view with which a list opens for a person."""

    user = models.ForeignKey(User, models.CASCADE, related_name="+")
    list_name = models.CharField(max_length=100)
    view = models.ForeignKey(SavedView, models.CASCADE, related_name="+")

    class Meta:
        verbose_name = _("view with which a list opens")
        verbose_name_plural = _("views with which lists open")
        ordering = ["id"]
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["user", "list_name"], name="defaultview_of_a_list_is_one")]

    def __str__(self) -> str:
        return self.list_name
