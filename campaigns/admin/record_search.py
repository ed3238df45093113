"""Searches of records that use only indexes, so that they are fast among millions."""

from typing import Any

from callcentre.core.scope import ALL, Scope
from callcentre.core.search import Hit, SearchText, candidates, union
from callcentre.core.statements import Statement, rows_of
from campaigns.models import Campaign, Record
from campaigns.models.record_rows import IDS_WITH_NUMBERS

# The most results; people refine a search with more.
MAX_FOUND = 500

_FIND = Statement("""
{ids_with_numbers}
UNION
SELECT id FROM campaigns_record
WHERE campaign_id = ANY(%(campaigns)s) AND identifier <> '' AND identifier = %(identifier)s
""").of(ids_with_numbers=IDS_WITH_NUMBERS)

# Some records whose number, or additional number, ends so.
_WITH_ENDING = (
    "SELECT id FROM campaigns_record WHERE reverse(number) LIKE {ending}",
    "SELECT record_id FROM campaigns_additionalnumber WHERE reverse(number) LIKE {ending}",
)
_WITH_IDENTIFIER = """
SELECT r.id FROM campaigns_campaign c CROSS JOIN LATERAL (
  SELECT id FROM campaigns_record
  WHERE campaign_id = c.id AND identifier = %(text)s AND identifier <> '') AS r
"""
_WITH_NUMBER = """
SELECT r.id FROM campaigns_campaign c CROSS JOIN LATERAL (
  SELECT id FROM campaigns_record WHERE campaign_id = c.id AND is_primary AND number = %(number)s) AS r
"""
_HITS = """
SELECT r.id, r.phone_number, r.identifier, c.name, s.name
FROM campaigns_record r JOIN campaigns_campaign c ON c.id = r.campaign_id
LEFT JOIN campaigns_recordstatus s ON s.id = r.status_id
WHERE r.id IN ({branches}){inside} ORDER BY r.id DESC LIMIT %(shown)s
"""

# The newest of each campaign, then the newest of these: the index of campaign and status has no order over all
# campaigns.
_NEWEST = """
SELECT newest.id FROM campaigns_campaign c CROSS JOIN LATERAL (
  SELECT r.id FROM campaigns_record r WHERE r.campaign_id = c.id AND r.system_status = %(status)s
  ORDER BY r.id DESC LIMIT %(count)s
) newest WHERE true{inside} ORDER BY newest.id DESC LIMIT %(count)s
"""


def ids_of(text: str, campaign_id: int | None = None, scope: Scope = ALL) -> list[int]:
    """Return the records with this number (in any spelling, also as an additional one) or this identifier.

    The search takes all campaigns of the scope unless one is named.
    """
    text = text.strip()
    search = SearchText.read(text)
    numbers = [search.number] if search.number else []
    inside = scope.within(Campaign.objects.order_by())
    campaigns = [campaign_id] if campaign_id else list(inside.values_list("pk", flat=True))
    values: dict[str, Any] = {"campaigns": campaigns, "numbers": numbers, "identifier": text}
    endings = search.with_endings(*(f"{branch} AND campaign_id = ANY(%(campaigns)s)" for branch in _WITH_ENDING))
    rows = rows_of(union([_FIND, *endings], MAX_FOUND), search.parameters | values)
    return [pk for (pk,) in rows[:MAX_FOUND]]


def records(search: SearchText, count: int, scope: Scope = ALL) -> list[Hit]:
    """Return records by the end of a number or by identifier, newest first."""
    branches = [_WITH_IDENTIFIER]
    if search.number:
        branches += search.with_endings(*_WITH_ENDING) or [_WITH_NUMBER]
    statement = _HITS.format(branches=union(branches, candidates(scope)), inside=scope.sql(Record, "r"))
    rows = rows_of(statement, search.parameters | {"shown": count} | scope.by_column)
    return [
        Hit(pk, phone_number, tuple(filter(None, (campaign, status, identifier))))
        for pk, phone_number, identifier, campaign, status in rows
    ]


def newest_with_status(system_status: str, count: int, scope: Scope = ALL) -> list[int]:
    """Return the newest records with this system status in all campaigns of the scope."""
    values = {"status": system_status, "count": count, **scope.by_column}
    return [pk for (pk,) in rows_of(_NEWEST.format(inside=scope.sql(Campaign, "c")), values)]
