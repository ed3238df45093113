import callcentre.core.encryption
import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
import webhooks.event_types
import webhooks.models.webhook
import webhooks.signing
from callcentre.core.schema_operations import Together
from django.db import migrations, models


class Migration(migrations.Migration):
    # What databases had recorded before 1.0.0, beside this name.
    replaces = [("webhooks", name) for name in (
        "0002_resends 0003_notices 0004_untried_first 0005_deletion_events 0006_chat_messages "
        "0007_offered_records 0008_dropped_records 0009_alarms 0010_audit 0011_actions_by_function "
        "0012_histories_of_webhooks_stay"
    ).split()]

    initial = True

    dependencies = [
    ]

    operations = [Together([
        migrations.CreateModel(
            name='Webhook',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='changed')),
                ('actions', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=webhooks.event_types.event_choices, max_length=50), size=None, verbose_name='actions')),
                ('subscription_url', models.CharField(max_length=2000, verbose_name='address')),
                ('format', models.CharField(choices=[('json', 'JSON'), ('form', 'form')], default=webhooks.models.webhook.default_format, max_length=4, verbose_name='format')),
                ('http_auth_user', callcentre.core.encryption.EncryptedTextField(blank=True, verbose_name='user')),
                ('http_auth_password', callcentre.core.encryption.EncryptedTextField(blank=True, verbose_name='password')),
                ('secret', callcentre.core.encryption.EncryptedTextField(default=webhooks.signing.new_secret, editable=False)),
                ('previous_secret', callcentre.core.encryption.EncryptedTextField(blank=True, editable=False)),
                ('previous_secret_expires_at', models.DateTimeField(editable=False, null=True, verbose_name='old secret signs until')),
                ('is_active', models.BooleanField(default=True, editable=False, verbose_name='active')),
                ('disabled_because', models.CharField(blank=True, choices=[('person', 'a person or program disabled it'), ('gone', 'the receiver answered 410: it wants no more'), ('failing', 'nothing but failures for five days')], editable=False, max_length=10, verbose_name='why disabled')),
                ('disabled_at', models.DateTimeField(editable=False, null=True, verbose_name='disabled')),
                ('deleted_at', models.DateTimeField(editable=False, null=True)),
                ('failing_since', models.DateTimeField(editable=False, null=True, verbose_name='failing since')),
                ('last_success_at', models.DateTimeField(editable=False, null=True, verbose_name='last success')),
                ('open_until', models.DateTimeField(editable=False, null=True, verbose_name='paused until')),
                ('failures_in_a_row', models.PositiveIntegerField(default=0, editable=False, verbose_name='failures in a row')),
                ('notice_due_at', models.DateTimeField(editable=False, null=True)),
            ],
            options={
                'verbose_name': 'webhook',
                'verbose_name_plural': 'webhooks',
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='Event',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('event_id', models.UUIDField(unique=True, verbose_name='event id')),
                ('action', models.CharField(choices=webhooks.event_types.event_choices, max_length=50, verbose_name='action')),
                ('subject', models.CharField(max_length=80, verbose_name='subject')),
                ('payload', models.JSONField(verbose_name='payload')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='date')),
            ],
            options={
                'verbose_name': 'event',
                'verbose_name_plural': 'events',
                'ordering': ['-id'],
                'indexes': [models.Index(fields=['subject', 'id'], name='event_subject'), models.Index(fields=['action', 'id'], name='event_action'), models.Index(fields=['created_at'], name='event_created_at')],
            },
        ),
        migrations.CreateModel(
            name='WebhookChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='time')),
                ('actor_kind', models.CharField(choices=[('api_user', 'API user'), ('user', 'user'), ('agent', 'agent'), ('import', 'import'), ('dialler', 'dialler'), ('system', 'system')], max_length=10, verbose_name='kind of actor')),
                ('actor_id', models.BigIntegerField(null=True)),
                ('actor_name', models.CharField(max_length=150, verbose_name='actor')),
                ('action', models.CharField(max_length=30, verbose_name='action')),
                ('changes', models.JSONField(default=dict, verbose_name='changes')),
                ('webhook', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='history', to='webhooks.webhook', verbose_name='webhook')),
                ('actor_address', models.GenericIPAddressField(null=True, verbose_name='address')),
            ],
            options={
                'verbose_name': 'change of a webhook',
                'verbose_name_plural': 'changes of webhooks',
                'ordering': ['-id'],
                'indexes': [models.Index(fields=['-at'], name='webhookchange_at')],
            },
        ),
        migrations.CreateModel(
            name='Resend',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('since', models.DateTimeField(verbose_name='failed since')),
                ('includes_waiting', models.BooleanField(default=False, verbose_name='and those that wait for a later attempt')),
                ('state', models.CharField(choices=[('queued', 'queued'), ('running', 'running'), ('finished', 'finished')], default='queued', max_length=10, verbose_name='state')),
                ('total_count', models.PositiveIntegerField(null=True, verbose_name='deliveries')),
                ('done_count', models.PositiveIntegerField(default=0, verbose_name='made due')),
                ('leased_until', models.DateTimeField()),
                ('actor_kind', models.CharField(max_length=10)),
                ('actor_id', models.BigIntegerField(null=True)),
                ('actor_name', models.CharField(max_length=150, verbose_name='asked for by')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='created')),
                ('finished_at', models.DateTimeField(null=True, verbose_name='finished')),
                ('webhook', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='resends', to='webhooks.webhook', verbose_name='webhook')),
            ],
            options={
                'verbose_name': 'resend of what failed',
                'verbose_name_plural': 'resends of what failed',
                'ordering': ['-id'],
                'indexes': [models.Index(fields=['webhook', '-id'], name='resend_webhook')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('state', 'finished'), _negated=True), fields=('webhook',), name='resend_is_alone', violation_error_message='What failed is being sent again already.')],
            },
        ),
        migrations.CreateModel(
            name='Delivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('waiting', 'waiting'), ('succeeded', 'succeeded'), ('failed', 'failed')], default='waiting', max_length=10, verbose_name='state')),
                ('attempt_count', models.PositiveSmallIntegerField(default=0, verbose_name='attempts')),
                ('next_attempt_at', models.DateTimeField(null=True, verbose_name='next attempt')),
                ('finished_at', models.DateTimeField(null=True, verbose_name='finished')),
                ('event', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='deliveries', to='webhooks.event', verbose_name='event')),
                ('webhook', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='deliveries', to='webhooks.webhook', verbose_name='webhook')),
                ('is_retry', models.BooleanField(db_default=False, editable=False)),
            ],
            options={
                'verbose_name': 'delivery',
                'verbose_name_plural': 'deliveries',
                'ordering': ['-id'],
                'indexes': [models.Index(condition=models.Q(('state', 'waiting')), fields=['webhook', 'next_attempt_at', 'id'], name='delivery_queue'), models.Index(condition=models.Q(('is_retry', False), ('state', 'waiting')), fields=['webhook', 'next_attempt_at', 'id'], name='delivery_untried'), models.Index(fields=['webhook', '-id'], name='delivery_webhook'), models.Index(condition=models.Q(('state', 'failed')), fields=['webhook', 'finished_at'], name='delivery_failed'), models.Index(condition=models.Q(('state', 'failed')), fields=['webhook', '-id'], name='delivery_newest_failed'), models.Index(condition=models.Q(('state', 'failed')), fields=['-id'], name='delivery_any_failed')],
                'constraints': [models.UniqueConstraint(fields=('event', 'webhook'), name='delivery_is_unique'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'waiting'), _negated=True), ('next_attempt_at__isnull', False), _connector='OR'), name='delivery_waiting_is_due')],
            },
        ),
        migrations.CreateModel(
            name='Attempt',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('started_at', models.DateTimeField(verbose_name='time')),
                ('milliseconds', models.PositiveIntegerField(verbose_name='duration in ms')),
                ('status', models.PositiveSmallIntegerField(null=True, verbose_name='status')),
                ('error', models.CharField(blank=True, max_length=200, verbose_name='error')),
                ('answer', models.TextField(blank=True, verbose_name='answer')),
                ('delivery', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='attempts', to='webhooks.delivery', verbose_name='delivery')),
                ('webhook', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='attempts', to='webhooks.webhook')),
            ],
            options={
                'verbose_name': 'attempt',
                'verbose_name_plural': 'attempts',
                'ordering': ['-id'],
                'indexes': [models.Index(fields=['webhook', '-id'], include=('started_at', 'status'), name='attempt_webhook'), models.Index(condition=models.Q(('status__isnull', True), ('status__lt', 200), ('status__gte', 300), _connector='OR'), fields=['webhook', '-id'], name='attempt_failed'), models.Index(condition=models.Q(('status__isnull', True), ('status__lt', 200), ('status__gte', 300), _connector='OR'), fields=['-id'], name='attempt_any_failed')],
            },
        ),
    ])]
