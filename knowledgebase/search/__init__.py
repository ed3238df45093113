"""The search: `query` parses what a reader types, `hits` finds articles, `highlight` marks their words."""

from knowledgebase.search.hits import MAX_HITS, Hit, find
