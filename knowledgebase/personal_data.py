"""The table of what the models of the knowledge base have of a person (callcentre/core/personal_data.py)."""

from django.db.models import Model

from callcentre.core.personal_data import Data, Nothing
from knowledgebase import models

_TEXTS = Nothing("texts that the company publishes, and their index")

TABLE: dict[type[Model], Data | Nothing] = {
    models.SearchMiss: Data("query", deletes_mentions=True),
    models.ArticleVote: Data("user_key", deletes_mentions=True),
    **_TEXTS.of(models, "Catalog Category Article ArticleVersion ArticleChange ArticleImage Lemma Term"),
}
