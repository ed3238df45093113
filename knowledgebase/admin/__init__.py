"""The knowledge base's part of the admin."""

from knowledgebase.admin import articles, catalogs, misses, versions
