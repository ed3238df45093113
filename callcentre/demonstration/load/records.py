"""Records of a campaign that has been dialled for a while, generated inside the database."""

from django.db import connection, transaction

from callcentre.core.actor import SYSTEM
from callcentre.demonstration import add, data
from campaigns.models import Campaign, CampaignField
from campaigns.verbs.campaigns import create_campaign

# Polish mobile numbers from +48 500 000 000 on, each once and shuffled: the step and the count have no common divisor.
_RECORDS = """
WITH new AS (
  INSERT INTO campaigns_record (campaign_id, phone_number, number, is_primary, status_id, system_status, identifier,
    last_note, fields, leased_by)
  SELECT %(campaign)s, number, number, true, (
      SELECT min(s.id) FROM campaigns_recordstatus s
      WHERE s.campaign_id = %(campaign)s AND s.system_status = drawn.system_status
    ), system_status, 'LOAD-' || n, '', jsonb_build_object(
      (%(fields)s::text[])[1],
      (%(first_names)s::text[])[1 + floor(random() * cardinality(%(first_names)s::text[]))::int],
      (%(fields)s::text[])[2],
      (%(cities)s::text[])[1 + floor(random() * cardinality(%(cities)s::text[]))::int]
    ), ''
  FROM (
    SELECT n, '+48' || 500000000 + n * 38196601 %% 100000000 AS number,
      (ARRAY['TO_CALL', 'NO_CALL', 'CALL', 'ABANDONED_AFTER_N_TRIES'])[
        width_bucket(random() * 100, ARRAY[0, 55, 80, 92]::float[])] AS system_status
    FROM generate_series(%(known)s::bigint, %(known)s::bigint + %(count)s - 1) AS n
  ) AS drawn
  ORDER BY n
  RETURNING id, status_id, system_status
)
INSERT INTO campaigns_recordchange (record_id, actor_kind, actor_name, action, changes, from_status, to_status,
  from_system_status, to_system_status)
SELECT r.id, 'system', 'system', 'create', '{}', '', COALESCE(s.name, ''), '', r.system_status
FROM new r LEFT JOIN campaigns_recordstatus s ON s.id = r.status_id
"""


@transaction.atomic
def generate(count: int) -> None:
    """Add records to the campaign LOAD1; create it if it is missing."""
    given = data("campaigns")
    campaign = Campaign.objects.filter(code="LOAD1").first() or create_campaign(
        SYSTEM, code="LOAD1", name="Load test", dialer=Campaign.Dialer.PROGRESSIVE, is_crm=False
    )
    parameters = {
        "campaign": campaign.pk,
        "fields": [str(field.pk) for field in add(CampaignField, given["fields"], campaign=campaign)],
        "first_names": given["first_names"],
        "cities": given["cities"],
        "known": campaign.records.count(),
        "count": count,
    }
    with connection.cursor() as cursor:
        cursor.execute("SELECT setseed(0.5)")
        cursor.execute(_RECORDS, parameters)
