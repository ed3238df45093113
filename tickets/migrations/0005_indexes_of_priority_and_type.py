from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ('tickets', '0004_service_levels'),
    ]

    operations = [
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS ticket_of_priority", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name='ticket',
            index=models.Index(fields=['priority', '-updated_at', '-id'], name='ticket_of_priority'),
        ),
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS ticket_of_type", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name='ticket',
            index=models.Index(condition=models.Q(('type__isnull', False)), fields=['type', '-updated_at', '-id'], name='ticket_of_type'),
        ),
    ]
