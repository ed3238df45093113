from knowledgebase.models.article import Article, ArticleChange, ArticleVersion
from knowledgebase.models.catalog import Catalog, Category
from knowledgebase.models.image import ArticleImage
from knowledgebase.models.lemma import Lemma
from knowledgebase.models.miss import SearchMiss
from knowledgebase.models.term import Term
from knowledgebase.models.vote import ArticleVote

__all__ = [
    "Article",
    "ArticleChange",
    "ArticleImage",
    "ArticleVersion",
    "ArticleVote",
    "Catalog",
    "Category",
    "Lemma",
    "SearchMiss",
    "Term",
]
