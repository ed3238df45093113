"""The look-ups of campaigns that lists of calls use (telephony.call_lookups)."""

from collections.abc import Collection, Mapping

from callcentre.core.search import SearchText
from campaigns.models import Campaign

# Campaigns are few; an index has the order of their attempts.
_CALLS = """
SELECT calls.connection_id AS id
FROM (SELECT id FROM campaigns_campaign WHERE {words}) AS found CROSS JOIN LATERAL (
  SELECT t.connection_id, t.dialled_at FROM campaigns_attempt t WHERE t.campaign_id = found.id
  ORDER BY t.dialled_at DESC, t.id DESC LIMIT {{most}}) AS calls
ORDER BY calls.dialled_at DESC
"""


def call_branches(search: SearchText) -> list[str]:
    """Return the SELECT of the calls of the campaigns with these words in their code or name."""
    words = search.like_words("callcentre_name(code, name)")
    return [_CALLS.format(words=words)] if search.patterns else []


def names(ids: Collection[int]) -> Mapping[int, str]:
    return dict(Campaign.objects.filter(pk__in=ids).order_by().values_list("pk", "name"))
