from datetime import timedelta
from typing import Any

from django.db import models
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from knowledgebase.models.catalog import Catalog

KEPT_DAYS = 90


class MissQuerySet(models.QuerySet["SearchMiss"]):
    def record(self, catalog_id: Any, query: str) -> None:
        """Count a search without a result. Case and blanks do not matter."""
        asked = {"catalog_id": catalog_id, "query": " ".join(query.lower().split())[:200]}
        self.update_or_create({"count": models.F("count") + 1, "last_at": timezone.now()}, {}, **asked)

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
