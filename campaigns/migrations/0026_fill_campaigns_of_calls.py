from django.db import migrations

BATCH = 50_000
# The attempt refers to the campaign. Without one, the code is that of the campaign if it is not younger than the call.
FILL = """
UPDATE telephony_connection c SET campaign_id = COALESCE(
  (SELECT a.campaign_id FROM campaigns_attempt a WHERE a.connection_id = c.id),
  (SELECT p.id FROM campaigns_campaign p
   WHERE p.code = c.campaign_code AND date_trunc('second', p.created_at) <= c.created_at)
)
WHERE c.id > %s AND c.id <= %s AND c.campaign_code <> '' AND c.campaign_id IS NULL
"""
# Calls and attempts that no campaign is left of.
NOTE_CODES = """
INSERT INTO campaigns_formercode (code)
SELECT campaign_code FROM campaigns_attempt WHERE campaign_id IS NULL
UNION
SELECT campaign_code FROM telephony_connection WHERE campaign_id IS NULL AND campaign_code <> ''
ON CONFLICT DO NOTHING
"""


def fill(apps, schema_editor):
    """Set the campaigns of the calls that exist, in batches with a transaction each, and note deleted campaigns.

    A call that older code places after this has no campaign: people with a scope do not see it.
    """
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT COALESCE(max(id), 0) FROM telephony_connection")
        (last,) = cursor.fetchone()
        for first in range(0, last, BATCH):
            cursor.execute(FILL, [first, first + BATCH])
        cursor.execute(NOTE_CODES)


class Migration(migrations.Migration):
    # Each batch commits.
    atomic = False
    dependencies = [
        ("campaigns", "0025_codes_of_deleted_campaigns"),
        ("telephony", "0028_campaigns_of_calls_by_id"),
    ]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
