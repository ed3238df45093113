import django.db.models.functions.comparison
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ('tickets', '0010_teams'),
    ]

    operations = [
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS ticket_to_take", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name='ticket',
            index=models.Index(django.db.models.functions.comparison.Coalesce('team', 0), models.OrderBy(models.F('priority'), descending=True), django.db.models.functions.comparison.Least(models.Case(models.When(models.Q(('awaiting_since__isnull', False)), then='response_due_at')), 'resolution_due_at'), models.F('created_at'), models.F('id'), condition=models.Q(('agent', None), ('closed_at', None)), name='ticket_to_take'),
        ),
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS ticket_of_team", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name='ticket',
            index=models.Index(condition=models.Q(('team__isnull', False)), fields=['team', '-updated_at', '-id'], name='ticket_of_team'),
        ),
    ]
