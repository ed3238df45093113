"""Finding articles: what people type (query), which articles that means (finding), and what they see (highlight)."""

from knowledgebase.search.hits import MAX_HITS, Hit, find

__all__ = ["MAX_HITS", "Hit", "find"]
