import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('telephony', '0007_connection_results'),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name='connection',
            name='connection_of_agent',
        ),
        migrations.RemoveIndex(
            model_name='connection',
            name='connection_of_queue',
        ),
        migrations.AddField(
            model_name='recording',
            name='leaves_switch_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='transfer',
            name='from_queue',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='telephony.queue', verbose_name='from queue'),
        ),
        migrations.AlterField(
            model_name='callcommand',
            name='actor_name',
            field=models.CharField(max_length=150, verbose_name='actor'),
        ),
        migrations.AddIndex(
            model_name='connection',
            index=models.Index(fields=['agent', '-created_at', '-id', 'direction', 'disposition', 'queue'], name='connection_of_agent'),
        ),
        migrations.AddIndex(
            model_name='connection',
            index=models.Index(fields=['queue', '-created_at', '-id', 'direction', 'disposition'], name='connection_of_queue'),
        ),
        migrations.AddIndex(
            model_name='recording',
            index=models.Index(condition=models.Q(('leaves_switch_at__isnull', False)), fields=['leaves_switch_at'], name='recording_on_switch'),
        ),
    ]
