from django.db import migrations

from callcentre.core.phone import calling_code
from callcentre.core.phone_zones import zones_of_number

BATCH = 10_000
READ = """
SELECT id, number FROM campaigns_record WHERE id > %s AND number LIKE '+%%' ORDER BY id LIMIT %s
"""
# In the order of ids, as edits lock records.
WRITE = """
WITH given AS (SELECT * FROM unnest(%s::bigint[], %s::text[], %s::text[]) AS g(id, zone, calling_code)),
locked AS (SELECT r.id FROM campaigns_record r JOIN given USING (id) ORDER BY r.id FOR NO KEY UPDATE OF r)
UPDATE campaigns_record r SET zone = given.zone, calling_code = given.calling_code
FROM given JOIN locked USING (id) WHERE r.id = given.id
"""


def fill(apps, schema_editor):
    """Set the zones and the country of the records that exist, in batches with a transaction each."""
    with schema_editor.connection.cursor() as cursor:
        last = 0
        while True:
            cursor.execute(READ, [last, BATCH])
            rows = cursor.fetchall()
            if not rows:
                return
            last = rows[-1][0]
            ids = [pk for pk, _number in rows]
            zones = [zones_of_number(number) for _pk, number in rows]
            codes = [calling_code(number) for _pk, number in rows]
            cursor.execute(WRITE, [ids, zones, codes])


class Migration(migrations.Migration):
    # Each batch commits.
    atomic = False
    dependencies = [("campaigns", "0009_zones_of_records")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
