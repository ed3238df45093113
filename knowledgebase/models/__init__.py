from knowledgebase.models.article import Article, ArticleChange, ArticleImage, ArticleVersion, ArticleVote
from knowledgebase.models.catalog import Catalog, Category
from knowledgebase.models.term import Lemma, SearchMiss, Term
