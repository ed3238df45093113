from datetime import timedelta
from typing import Any

from django.db import connection, models
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from knowledgebase.models.catalog import Catalog

KEPT_DAYS = 90
RECORD = """
INSERT INTO knowledgebase_searchmiss AS miss (catalog_id, query, count, last_at) VALUES (%s, %s, 1, now())
ON CONFLICT (catalog_id, query) DO UPDATE SET count = miss.count + 1, last_at = now()
"""


class MissQuerySet(models.QuerySet["SearchMiss"]):
    def record(self, catalog_id: Any, query: str) -> None:
        """Count a search without a result. Case and blanks do not matter."""
        with connection.cursor() as cursor:
            cursor.execute(RECORD, [catalog_id, " ".join(query.lower().split())[:200]])

    def old(self) -> "MissQuerySet":
        return self.filter(last_at__lt=timezone.now() - timedelta(days=KEPT_DAYS))


class SearchMiss(models.Model):
    """A search that found nothing in a catalog, and how often it was made. Editors read here what to write about.

    It is deleted 90 days after the last such search, or when an editor dismisses it.
    """

    catalog = models.ForeignKey(Catalog, models.CASCADE, related_name="misses", verbose_name=_("catalog"))
    # In lower case, with single blanks.
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
