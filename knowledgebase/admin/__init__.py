"""The knowledge base's part of the admin."""

from knowledgebase.admin import articles, catalogs, changes, misses, versions

__all__ = ["articles", "catalogs", "changes", "misses", "versions"]
