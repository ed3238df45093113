from django.db import models
from django.utils.translation import gettext_lazy as _

from callcentre.core.changes import TimestampedModel
from callcentre.models import ApiUser
from knowledgebase.models.article import Article


class ArticleVote(TimestampedModel):
    """The vote of one reader on an article. A later vote of the same reader replaces it; the article has the counts.

    A reader is an API user and its end user: `user_key` tells its end users apart, "" is the API user itself.
    """

    article = models.ForeignKey(Article, models.CASCADE, related_name="votes", verbose_name=_("article"))
    api_user = models.ForeignKey(ApiUser, models.CASCADE, related_name="+", verbose_name=_("API user"))
    user_key = models.CharField(_("end user"), max_length=255, blank=True)
    is_positive = models.BooleanField(_("helpful"))

    class Meta:
        verbose_name = _("vote")
        verbose_name_plural = _("votes")
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["article", "api_user", "user_key"], name="articlevote_is_unique"),
        ]

    def __str__(self) -> str:
        return f"{'+' if self.is_positive else '-'} {self.user_key}"
