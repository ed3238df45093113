"""Millions of records for load tests, written by COPY, in a campaign that has been dialled for a while."""

import random
from collections.abc import Iterator
from itertools import islice

import orjson
from django.db import connection, transaction

from callcentre.core.actor import SYSTEM
from campaigns.demo import CITIES, FIRST_NAMES
from campaigns.models import Campaign, CampaignField, SystemStatus
from campaigns.verbs.campaigns import create_campaign

CODE = "LOAD1"
# Percentage of the records with each status.
SHARES = {
    SystemStatus.TO_CALL: 55,
    SystemStatus.NO_CALL: 25,
    SystemStatus.CALL: 12,
    SystemStatus.ABANDONED_AFTER_N_TRIES: 8,
}
# Polish mobile numbers from +48 500 000 000 on, each once and shuffled: the step and the count have no common divisor.
NUMBERS, STEP = 100_000_000, 38_196_601
_COLUMNS = (
    "campaign_id, phone_number, number, is_primary, status_id, system_status, identifier, last_note, fields, leased_by"
)
_HISTORY = """
INSERT INTO campaigns_recordchange (record_id, actor_kind, actor_name, action, changes, from_status, to_status,
                                    from_system_status, to_system_status)
SELECT r.id, 'system', 'system', 'create', '{}', '', COALESCE(s.name, ''), '', r.system_status
FROM campaigns_record r LEFT JOIN campaigns_recordstatus s ON s.id = r.status_id
WHERE r.campaign_id = %s AND r.id > %s
"""
BLOCK = 5000


@transaction.atomic
def generate(count: int) -> None:
    """Add records to the campaign LOAD1; create it if it is missing."""
    campaign = Campaign.objects.filter(code=CODE).first()
    if campaign is None:
        campaign = create_campaign(
            SYSTEM, code=CODE, name="Load test", dialer=Campaign.Dialer.PROGRESSIVE, is_crm=False
        )
        for order, name in enumerate(("first_name", "city"), start=1):
            CampaignField.objects.create(campaign=campaign, name=name, order=10 * order)
    with connection.cursor() as cursor:
        cursor.execute("SELECT COALESCE(max(id), 0) FROM campaigns_record")
        last_id = cursor.fetchone()[0]
        known = campaign.records.count()
        # Read before the COPY: during it the connection does nothing else.
        statuses: dict[str, int] = dict(campaign.statuses.order_by("-id").values_list("system_status", "id"))
        fields = [str(pk) for pk in campaign.fields.order_by("order").values_list("pk", flat=True)]
        lines = _lines(campaign.pk, statuses, fields, range(known, known + count))
        with cursor.copy(f"COPY campaigns_record ({_COLUMNS}) FROM STDIN") as copy:
            while block := "".join(islice(lines, BLOCK)):
                copy.write(block)
        cursor.execute(_HISTORY, [campaign.pk, last_id])


def _lines(campaign_id: int, statuses: dict[str, int], keys: list[str], places: range) -> Iterator[str]:
    chance = random.Random("records")  # noqa: S311  (a load test, no secret)
    for place in places:
        number = f"+48{500_000_000 + place * STEP % NUMBERS}"
        (status,) = chance.choices(list(SHARES), list(SHARES.values()))
        values_of_fields = (chance.choice(FIRST_NAMES), chance.choice(CITIES))
        fields = orjson.dumps(dict(zip(keys, values_of_fields, strict=True))).decode()
        values = (campaign_id, number, number, "t", statuses.get(status, "\\N"), status.value)
        yield "\t".join(map(str, (*values, f"LOAD-{place}", "", fields, ""))) + "\n"
