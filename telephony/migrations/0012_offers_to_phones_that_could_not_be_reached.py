from django.db import migrations

# They count in the report no longer: the hours in which they did are summed up anew.
_NOTE = """
INSERT INTO telephony_ledgerchange (agent_id, since, until)
SELECT agent_id, offered_at, ended_at FROM telephony_offer WHERE outcome = 'failed' AND ended_at IS NOT NULL
"""


class Migration(migrations.Migration):
    dependencies = [("telephony", "0011_causes_and_notes_in_words")]

    operations = [migrations.RunSQL(_NOTE, migrations.RunSQL.noop)]
