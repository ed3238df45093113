from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ('tickets', '0008_agent_preferences'),
    ]

    operations = [
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS ticket_postponed", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name='ticket',
            index=models.Index(condition=models.Q(('closed_at', None), ('postponed_until__isnull', False)), fields=['postponed_until'], name='ticket_postponed'),
        ),
    ]
