"""Count the votes of readers."""

from django.db import transaction

from knowledgebase.models import Article, ArticleVote


def cast_vote(article: Article, api_user_id: int, user_key: str, *, is_positive: bool) -> Article:
    """Count a vote; it replaces the voter's earlier one. Return the article with its counts."""
    with transaction.atomic():
        # The lock on the article makes two votes of one voter wait for each other.
        counts = Article.objects.only("positive_count", "negative_count")
        locked: Article = counts.select_for_update(no_key=True, of=("self",)).get(pk=article.pk)
        vote = ArticleVote.objects.filter(article=locked, api_user_id=api_user_id, user_key=user_key).first()
        if vote is not None and vote.is_positive == is_positive:
            return locked
        if vote is not None:
            _count(locked, -1, is_positive=vote.is_positive)
            vote.is_positive = is_positive
            vote.save(update_fields=["is_positive", "updated_at"])
        else:
            ArticleVote.objects.create(
                article=locked, api_user_id=api_user_id, user_key=user_key, is_positive=is_positive
            )
        _count(locked, 1, is_positive=is_positive)
        # `updated_at` stays: the text that readers see has not changed.
        locked.save(update_fields=["positive_count", "negative_count"])
    return locked


def _count(article: Article, votes: int, *, is_positive: bool) -> None:
    if is_positive:
        article.positive_count += votes
    else:
        article.negative_count += votes
