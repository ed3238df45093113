"""Create a dictionary entry for each system status, for a new installation."""

from django.db import migrations

STATUSES = """
INSERT INTO campaigns_dictionarystatus (name, system_status, "order") VALUES
  ('To be called', 'TO_CALL', 10),
  ('In progress', 'IN_PROGRESS', 20),
  ('Call', 'CALL', 30),
  ('Own record', 'MY_RECORD', 40),
  ('Do not call', 'NO_CALL', 50),
  ('Rejected after n tries', 'ABANDONED_AFTER_N_TRIES', 60),
  ('Call no sooner than', 'CALL_NO_SOONER_THAN', 70),
  ('Call in progressive mode', 'CALL_PROGRESSIVE', 80)
"""


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0001_initial")]

    # RunPython would render all models, which takes as long as ten other operations.
    operations = [migrations.RunSQL(STATUSES, migrations.RunSQL.noop)]
