from datetime import timedelta
from typing import Any

from django.db import connection, models
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from knowledgebase.models.catalog import Catalog

KEPT_DAYS = 90
NOTE = """
INSERT INTO knowledgebase_searchmiss AS miss (catalog_id, query, count, last_at) VALUES (%s, %s, 1, now())
ON CONFLICT (catalog_id, query) DO UPDATE SET count = miss.count + 1, last_at = now()
"""


class MissQuerySet(models.QuerySet["SearchMiss"]):
    def note(self, catalog_id: Any, query: str) -> None:
        """Nothing was found: count it with the same question asked before, however it was spelled."""
        with connection.cursor() as cursor:
            cursor.execute(NOTE, [catalog_id, " ".join(query.lower().split())[:200]])

    def old(self) -> "MissQuerySet":
        return self.filter(last_at__lt=timezone.now() - timedelta(days=KEPT_DAYS))


class SearchMiss(models.Model):
    """A question that the catalog had no answer to, and how often it was asked: what editors should write about.

    Kept until nobody has asked for 90 days, or an editor dismisses it.
    """

    catalog = models.ForeignKey(Catalog, models.CASCADE, related_name="misses", verbose_name=_("catalog"))
    # In lower case, blanks as one.
    query = models.CharField(_("query"), max_length=200)
    count = models.PositiveIntegerField(_("times"), default=1)
    first_at = models.DateTimeField(_("first asked"), db_default=Now())
    last_at = models.DateTimeField(_("last asked"), default=timezone.now)

    objects = MissQuerySet.as_manager()

    class Meta:
        verbose_name = _("search without a result")
        verbose_name_plural = _("searches without a result")
        ordering = ["-count", "-id"]
        constraints = [models.UniqueConstraint(fields=["catalog", "query"], name="searchmiss_is_unique")]
        indexes = [models.Index(fields=["last_at"], name="searchmiss_last_at")]

    def __str__(self) -> str:
        return self.query
