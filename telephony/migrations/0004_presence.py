from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('telephony', '0003_voices'),
    ]

    operations = [
        migrations.AddField(
            model_name='agentsession',
            name='heard_at',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AlterField(
            model_name='agentsession',
            name='ended_by',
            field=models.CharField(blank=True, choices=[('logout', 'logged out'), ('limit', 'closed by the limit'), ('silent', 'closed without heartbeats')], max_length=10, verbose_name='ended by'),
        ),
        migrations.AddField(
            model_name='pause',
            name='is_automatic',
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
        migrations.AddConstraint(
            model_name='pause',
            constraint=models.UniqueConstraint(condition=models.Q(('is_automatic', True)), fields=('is_automatic',), name='pause_one_automatic'),
        ),
    ]
