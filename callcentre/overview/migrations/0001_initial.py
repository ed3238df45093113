import callcentre.core.changes
import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    # What databases had recorded before 1.0.0, beside this name.
    replaces = [("overview", name) for name in (
        "0002_owners_of_alarms 0003_alarm_of_the_trunk"
    ).split()]

    initial = True

    dependencies = [
        ('callcentre', '__first__'),
        ('campaigns', '0001_initial'),
        ('telephony', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Alarm',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='changed')),
                ('name', models.CharField(max_length=100, unique=True, verbose_name='name')),
                ('is_active', models.BooleanField(default=True, verbose_name='active')),
                ('subject', models.CharField(choices=[('QUEUE_WAIT', 'queue: the longest wait is above (seconds)'), ('QUEUE_CALLERS', 'queue: the number of waiting callers is above'), ('QUEUE_FREE_AGENTS', 'queue: the number of free agents is below, while it is open'), ('CAMPAIGN_DROP_RATE', 'campaign: the drop rate of today is above (%)'), ('TRUNK_FAILED', 'trunk: no call has got through for longer than (seconds)')], max_length=20, verbose_name='raised if')),
                ('limit', models.FloatField(validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(100000)], verbose_name='limit')),
                ('sounds', models.BooleanField(default=False, help_text='Open overviews and wallboards sound when it is raised.', verbose_name='sound')),
                ('recipients', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=320), blank=True, default=list, size=None, verbose_name='recipients')),
                ('language', models.CharField(choices=callcentre.core.changes.languages, default='en', max_length=10, verbose_name='language of mails')),
                ('raised_at', models.DateTimeField(editable=False, null=True, verbose_name='raised')),
                ('value', models.FloatField(editable=False, null=True, verbose_name='value')),
                ('campaign', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='alarms', to='campaigns.campaign', verbose_name='campaign')),
                ('queue', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='alarms', to='telephony.queue', verbose_name='queue')),
                ('user', models.ForeignKey(db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='saved by')),
            ],
            options={
                'verbose_name': 'alarm',
                'verbose_name_plural': 'alarms',
                'ordering': ['name'],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('campaign__isnull', False), ('queue', None), ('subject', 'CAMPAIGN_DROP_RATE')), models.Q(('campaign', None), ('queue', None), ('subject', 'TRUNK_FAILED')), models.Q(models.Q(('subject__in', ['CAMPAIGN_DROP_RATE', 'TRUNK_FAILED']), _negated=True), ('campaign', None), ('queue__isnull', False)), _connector='OR'), name='alarm_is_of_queue_or_campaign', violation_error_message='Choose the queue or the campaign that the alarm watches.')],
            },
        ),
        migrations.CreateModel(
            name='AlarmMail',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('recipient', models.CharField(max_length=320, verbose_name='to')),
                ('is_raised', models.BooleanField(verbose_name='raised')),
                ('at', models.DateTimeField(verbose_name='time')),
                ('value', models.FloatField(null=True, verbose_name='value')),
                ('limit', models.FloatField(verbose_name='limit')),
                ('state', models.CharField(choices=[('queued', 'queued'), ('sent', 'sent'), ('written', 'written to a file, not sent'), ('failed', 'failed')], default='queued', max_length=10, verbose_name='state')),
                ('attempt_count', models.PositiveSmallIntegerField(default=0, verbose_name='attempts')),
                ('next_attempt_at', models.DateTimeField(default=django.utils.timezone.now, null=True, verbose_name='next attempt')),
                ('sent_at', models.DateTimeField(null=True, verbose_name='sent')),
                ('error', models.CharField(blank=True, max_length=500, verbose_name='error')),
                ('alarm', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='mails', to='overview.alarm', verbose_name='alarm')),
            ],
            options={
                'verbose_name': 'mail of an alarm',
                'verbose_name_plural': 'mails of alarms',
                'ordering': ['-id'],
                'indexes': [models.Index(condition=models.Q(('state', 'queued')), fields=['next_attempt_at'], name='alarmmail_due')],
            },
        ),
    ]
