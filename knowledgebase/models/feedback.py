from django.db import models, transaction
from django.utils.translation import gettext_lazy as _

from callcentre.models import ApiUser, TimestampedModel
from knowledgebase.models.article import Article


class ArticleVote(TimestampedModel):
    """What one reader thinks of an article: one vote for each API user and end user of his, who may change his mind.

    `user_key` is how the API user tells its end users apart; "" is the API user itself. The article keeps the counts.
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

    @classmethod
    def cast(cls, article: Article, api_user_id: int, user_key: str, is_positive: bool) -> Article:
        """Count this vote instead of the voter's earlier one. Returns the article with its counts."""
        with transaction.atomic():
            # The article's row is the lock: two votes of one voter are counted one after the other.
            counts = Article.objects.only("positive_count", "negative_count")
            locked: Article = counts.select_for_update(no_key=True, of=("self",)).get(pk=article.pk)
            vote = cls.objects.filter(article=locked, api_user_id=api_user_id, user_key=user_key).first()
            if vote is not None and vote.is_positive == is_positive:
                return locked
            if vote is not None:
                locked.count_vote(vote.is_positive, -1)
                vote.is_positive = is_positive
                vote.save(update_fields=["is_positive", "updated_at"])
            else:
                cls.objects.create(article=locked, api_user_id=api_user_id, user_key=user_key, is_positive=is_positive)
            locked.count_vote(is_positive, 1)
            # Without `updated_at`: what readers read has not changed.
            locked.save(update_fields=["positive_count", "negative_count"])
        return locked
