"""Look-ups of calls by what other apps know, customers and campaigns. These apps register them when they are ready."""

from collections.abc import Callable, Collection, Mapping

from callcentre.core.search import SearchText
from callcentre.core.statements import Statement

# A text -> SELECTs of the ids of calls, the newest first, whose parameters are those of the text. `{most}` stands for
# the number of calls.
CallSearch = Callable[[SearchText], list[str]]
# Ids of campaigns -> their names, in one query.
CampaignNames = Callable[[Collection[int]], Mapping[int, str]]

_searches: list[CallSearch] = []
_names: list[CampaignNames] = [lambda ids: {}]
register_call_search, register_campaign_names = _searches.append, _names.append


def registered_branches(search: SearchText) -> list[str]:
    return [branch for find in _searches for branch in find(search)]


def names_of_campaigns(ids: Collection[int]) -> Mapping[int, str]:
    return _names[-1](ids) if ids else {}


def of_keys(column: str, keys: str) -> str:
    """Return the SELECT of the newest calls with each of some keys in a column, which an index has in this order."""
    return Statement("""
SELECT calls.id FROM ({keys}) AS found(key) CROSS JOIN LATERAL (
  SELECT c.id, c.created_at FROM telephony_connection c WHERE c.{column} = found.key
  ORDER BY c.created_at DESC, c.id DESC LIMIT {{most}}) AS calls
ORDER BY calls.created_at DESC, calls.id DESC""").of(keys=keys, column=column)
