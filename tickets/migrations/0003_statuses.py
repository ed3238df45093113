"""Create the statuses of a new installation. People may rename, add and order them."""

from django.db import migrations

STATUSES = """
INSERT INTO tickets_ticketstatus (name, kind, "order") VALUES
  ('New', 'new', 10),
  ('Waiting for customer', 'waiting_for_customer', 20),
  ('Postponed', 'postponed', 30),
  ('Merged', 'merged', 40),
  ('In progress', 'in_progress', 50),
  ('Closed', 'closed', 60)
ON CONFLICT (name) DO NOTHING
"""


class Migration(migrations.Migration):
    dependencies = [("tickets", "0002_ticket_count")]

    operations = [migrations.RunSQL(STATUSES, migrations.RunSQL.noop)]
