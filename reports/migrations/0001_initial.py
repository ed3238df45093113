import callcentre.core.changes
import callcentre.core.exporting.jobs
import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
import django.utils.timezone
import reports.periods
from django.conf import settings
from callcentre.core.schema_operations import Together
from django.db import migrations, models

# Each ledger: its table; the columns of the agent, of its first and of its last instant, which is NULL while it goes
# on; the rows that count; the further columns of which rollups are made (reports.ledgers).
LEDGERS = [
    ("telephony_agentsession", "agent_id", "started_at", "ended_at", "true", ()),
    (
        *("telephony_agentstate", "agent_id", "started_at", "ended_at", "kind IN ('free', 'paused', 'wrap_up')"),
        ("kind", "pause_id"),
    ),
    (
        *("telephony_offer", "agent_id", "offered_at", "ended_at", "outcome <> 'failed'"),
        ("outcome", "answered_at", "transferred_at", "queue_id", "connection_id"),
    ),
    (
        *("telephony_connection", "agent_id", "created_at", "ended_at", "direction = 'OUTBOUND' AND NOT has_talks"),
        ("direction", "has_talks", "answered_at", "queue_id"),
    ),
    ("telephony_talk", "agent_id", "counted_at", "ended_at", "true", ("started_at", "queue_id")),
    ("tickets_chat", "agent_id", "closed_at", "closed_at", "true", ("queue_id",)),
    ("tickets_ticket", "closed_by_id", "closed_at", "closed_at", "true", ("queue_id",)),
    ("tickets_message", "agent_id", "created_at", "created_at", "type = 'REPLY'", ("type", "ticket_id")),
    ("tickets_chatmessage", "agent_id", "created_at", "created_at", "true", ("chat_id",)),
]
_LOG = "INSERT INTO telephony_ledgerchange (agent_id, since, until)"
# Replies count for the queue of their ticket.
_REPLIES = f"""
  IF TG_OP = 'UPDATE' AND OLD.queue_id <> NEW.queue_id THEN
    {_LOG} SELECT agent_id, created_at, created_at FROM tickets_message
    WHERE ticket_id = NEW.id AND type = 'REPLY' AND agent_id IS NOT NULL;
  END IF;"""


def _create(table, agent, since, until, counts, others):
    """Return the statements that make the triggers of a ledger.

    Inserts and updates are logged by row, and only if a row that is over has changed in one of these columns: a row that
    begins costs nothing. Deletions are logged by statement, with one entry for an agent and a day.
    """
    names = list(dict.fromkeys([agent, since, until, *others]))
    old, new = (", ".join(f"{row}.{name}" for name in names) for row in ("OLD", "NEW"))
    log = f"""
    {_LOG} SELECT {agent}, min({since}), max(GREATEST({since}, {until})) FROM {{changed}}
    WHERE {agent} IS NOT NULL AND {until} IS NOT NULL AND {counts} GROUP BY {agent}, date_trunc('day', {since});"""
    log_old, log_new = (log.format(changed=f"(SELECT {row}) changed({', '.join(names)})") for row in (old, new))
    is_ticket = table == "tickets_ticket"
    run = f"EXECUTE FUNCTION reports_log_{table}()"
    is_over = f"OLD.{until} IS NOT NULL OR NEW.{until} IS NOT NULL"
    return [
        f"""
CREATE FUNCTION reports_log_{table}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN{log.format(changed="changed")}
    RETURN NULL;
  END IF;
  IF TG_OP = 'UPDATE' AND OLD.{until} IS NOT NULL THEN{log_old}
  END IF;
  IF NEW.{until} IS NOT NULL THEN{log_new}
  END IF;{_REPLIES if is_ticket else ""}
  RETURN NULL;
END $$""",
        f"""
CREATE TRIGGER reports_log_insert AFTER INSERT ON {table} FOR EACH ROW
WHEN (NEW.{agent} IS NOT NULL AND NEW.{until} IS NOT NULL) {run}""",
        f"CREATE TRIGGER reports_log_delete AFTER DELETE ON {table} REFERENCING OLD TABLE AS changed {run}",
        f"""
CREATE TRIGGER reports_log_update AFTER UPDATE ON {table} FOR EACH ROW WHEN (
  ({old}) IS DISTINCT FROM ({new}) AND ({is_over}{" OR OLD.queue_id <> NEW.queue_id" if is_ticket else ""})
) {run}""",
    ]


class Migration(migrations.Migration):
    # What databases had recorded before 1.0.0, beside this name.
    replaces = [("reports", name) for name in (
        "0002_note_history 0003_ready_rows 0004_exports 0005_hour_in_the_index 0006_ready_rows_unsorted "
        "0007_three_levels 0008_narrow_rollups 0009_former_rollups_read_only 0010_sum_anew 0011_scope "
        "0012_audit 0013_reports_by_queue_and_campaign 0014_histories_of_schedules_stay "
        "0015_changes_of_ledgers_are_logged 0016_sum_rows_without_entries"
    ).split()]

    initial = True

    dependencies = [
        ('telephony', '0001_initial'),
        ('tickets', '0001_initial'),
        ('callcentre', '__first__'),
    ]

    operations = [Together([
        migrations.CreateModel(
            name='Rollup',
            fields=[
                ('pk', models.CompositePrimaryKey('agent_id', 'level', 'queue_id', 'started_at', blank=True, editable=False, primary_key=True, serialize=False)),
                ('started_at', models.DateTimeField(verbose_name='from')),
                ('first_login_at', models.DateTimeField(null=True)),
                ('last_logout_at', models.DateTimeField(null=True)),
                ('agent_id', models.IntegerField(verbose_name='agent')),
                ('queue_id', models.IntegerField(verbose_name='queue')),
                ('offered', models.IntegerField(null=True)),
                ('answered', models.IntegerField(null=True)),
                ('not_answered', models.IntegerField(null=True)),
                ('transferred', models.IntegerField(null=True)),
                ('talk_seconds', models.IntegerField(null=True)),
                ('wait_seconds', models.IntegerField(null=True)),
                ('calls', models.IntegerField(null=True)),
                ('calls_seconds', models.IntegerField(null=True)),
                ('calls_talked', models.IntegerField(null=True)),
                ('chats_closed', models.IntegerField(null=True)),
                ('tickets_closed', models.IntegerField(null=True)),
                ('replies', models.IntegerField(null=True)),
                ('login_seconds', models.IntegerField(null=True)),
                ('free_count', models.IntegerField(null=True)),
                ('free_seconds', models.IntegerField(null=True)),
                ('pause_count', models.IntegerField(null=True)),
                ('pause_seconds', models.IntegerField(null=True)),
                ('wrap_up_seconds', models.IntegerField(null=True)),
                ('level', models.PositiveSmallIntegerField(verbose_name='period')),
                ('pauses', models.JSONField(null=True)),
                ('call_lengths', django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), null=True, size=None)),
                ('call_counts', django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), null=True, size=None)),
                ('call_seconds', django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), null=True, size=None)),
                ('answer_delays', django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), null=True, size=None)),
                ('answer_counts', django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), null=True, size=None)),
                ('chat_ids', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), null=True, size=None)),
                ('ticket_ids', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), null=True, size=None)),
            ],
            options={
                'verbose_name': 'sum of the report',
                'verbose_name_plural': 'sums of the report',
                'db_table': 'reports_sums',
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='RollupProgress',
            fields=[
                ('level', models.PositiveSmallIntegerField(primary_key=True, serialize=False, verbose_name='period')),
                ('until', models.DateTimeField(verbose_name='to')),
            ],
            options={
                'verbose_name': 'progress of the sums',
                'verbose_name_plural': 'progress of the sums',
                'ordering': ['level'],
            },
        ),
        migrations.CreateModel(
            name='Schedule',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='changed')),
                ('agent_ids', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, default=list, size=None, verbose_name='agents')),
                ('agent_group_ids', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, default=list, size=None, verbose_name='agent groups')),
                ('aggregation', models.CharField(choices=[(reports.periods.Aggregation['HOUR_OF_DAY'], 'hour of the day'), (reports.periods.Aggregation['MINUTE'], 'minute'), (reports.periods.Aggregation['HOUR'], 'hour'), (reports.periods.Aggregation['DAY'], 'day'), (reports.periods.Aggregation['WEEK'], 'week'), (reports.periods.Aggregation['MONTH'], 'month'), (reports.periods.Aggregation['YEAR'], 'year')], max_length=12, verbose_name='period of a row')),
                ('threshold', models.PositiveIntegerField(default=0, verbose_name='threshold of outbound calls in s')),
                ('answered_within', models.PositiveIntegerField(default=20, validators=[django.core.validators.MaxValueValidator(3600)], verbose_name='answered in time within s')),
                ('queue_ids', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, default=list, size=None, verbose_name='queues')),
                ('columns', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=60), default=list, size=None, verbose_name='columns')),
                ('format', models.CharField(choices=[('csv', 'CSV'), ('xlsx', 'XLSX')], default='csv', max_length=4, verbose_name='format')),
                ('language', models.CharField(choices=callcentre.core.changes.languages, default='en', max_length=10, verbose_name='language')),
                ('name', models.CharField(max_length=100, unique=True, verbose_name='name')),
                ('is_active', models.BooleanField(default=True, verbose_name='active')),
                ('repeats', models.CharField(choices=[('daily', 'every day'), ('weekly', 'every Monday'), ('monthly', 'on the first of every month')], default='daily', max_length=10, verbose_name='how often')),
                ('hour', models.PositiveSmallIntegerField(default=6, help_text='0 to 23, by the clock of the service.', validators=[django.core.validators.MaxValueValidator(23)], verbose_name='hour')),
                ('span', models.CharField(choices=[('yesterday', 'yesterday'), ('last_week', 'last week'), ('last_month', 'last month')], default='yesterday', max_length=10, verbose_name='span')),
                ('recipients', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=320), size=None, verbose_name='recipients')),
                ('next_due_at', models.DateTimeField(editable=False, verbose_name='next time')),
                ('user', models.ForeignKey(db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('campaign_ids', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, db_default=[], default=list, size=None, verbose_name='campaigns')),
                ('report', models.CharField(choices=[('agents', 'Agents work report'), ('queues', 'Queues report'), ('outbounds', 'Campaigns report'), ('tickets', 'Tickets report')], db_default='agents', default='agents', max_length=10, verbose_name='report')),
            ],
            options={
                'verbose_name': 'scheduled report',
                'verbose_name_plural': 'scheduled reports',
                'ordering': ['name'],
                'indexes': [models.Index(condition=models.Q(('is_active', True)), fields=['next_due_at'], name='schedule_due')],
                'constraints': [models.CheckConstraint(condition=models.Q(('hour__lte', 23)), name='schedule_hour_is_of_a_day')],
            },
        ),
        migrations.CreateModel(
            name='Export',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('agent_ids', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, default=list, size=None, verbose_name='agents')),
                ('agent_group_ids', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, default=list, size=None, verbose_name='agent groups')),
                ('aggregation', models.CharField(choices=[(reports.periods.Aggregation['HOUR_OF_DAY'], 'hour of the day'), (reports.periods.Aggregation['MINUTE'], 'minute'), (reports.periods.Aggregation['HOUR'], 'hour'), (reports.periods.Aggregation['DAY'], 'day'), (reports.periods.Aggregation['WEEK'], 'week'), (reports.periods.Aggregation['MONTH'], 'month'), (reports.periods.Aggregation['YEAR'], 'year')], max_length=12, verbose_name='period of a row')),
                ('threshold', models.PositiveIntegerField(default=0, verbose_name='threshold of outbound calls in s')),
                ('answered_within', models.PositiveIntegerField(default=20, validators=[django.core.validators.MaxValueValidator(3600)], verbose_name='answered in time within s')),
                ('queue_ids', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, default=list, size=None, verbose_name='queues')),
                ('columns', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=60), default=list, size=None, verbose_name='columns')),
                ('format', models.CharField(choices=[('csv', 'CSV'), ('xlsx', 'XLSX')], default='csv', max_length=4, verbose_name='format')),
                ('language', models.CharField(choices=callcentre.core.changes.languages, default='en', max_length=10, verbose_name='language')),
                ('begins_at', models.DateTimeField(verbose_name='from')),
                ('ends_at', models.DateTimeField(verbose_name='to')),
                ('state', models.CharField(choices=[('queued', 'queued'), ('running', 'running'), ('finished', 'finished'), ('failed', 'failed')], default='queued', max_length=10, verbose_name='state')),
                ('percent', models.PositiveSmallIntegerField(default=0, verbose_name='progress')),
                ('row_count', models.PositiveIntegerField(default=0, verbose_name='rows')),
                ('file', models.FileField(blank=True, max_length=300, upload_to=callcentre.core.exporting.jobs.path_of, verbose_name='file')),
                ('file_size', models.PositiveBigIntegerField(default=0, verbose_name='size in bytes')),
                ('message', models.TextField(blank=True, verbose_name='message')),
                ('attempt_count', models.PositiveSmallIntegerField(db_column='attempts', default=0, editable=False, verbose_name='attempts')),
                ('request_id', models.CharField(blank=True, editable=False, max_length=64)),
                ('actor_kind', models.CharField(editable=False, max_length=10)),
                ('actor_id', models.BigIntegerField(editable=False, null=True)),
                ('actor_name', models.CharField(editable=False, max_length=150, verbose_name='asked for by')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='asked for')),
                ('started_at', models.DateTimeField(editable=False, null=True, verbose_name='started')),
                ('read_at', models.DateTimeField(editable=False, null=True, verbose_name='as of')),
                ('finished_at', models.DateTimeField(editable=False, null=True, verbose_name='finished')),
                ('due_at', models.DateTimeField(editable=False, null=True, verbose_name='due')),
                ('schedule', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='exports', to='reports.schedule', verbose_name='scheduled report')),
                ('scope_agent_groups', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, help_text='Empty: all.', null=True, size=None, verbose_name='agent groups')),
                ('scope_call_queues', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, help_text='Empty: all.', null=True, size=None, verbose_name='call queues')),
                ('scope_outbounds', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, help_text='Empty: all.', null=True, size=None, verbose_name='campaigns')),
                ('scope_ticket_queues', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, help_text='Empty: all.', null=True, size=None, verbose_name='ticket queues')),
                ('campaign_ids', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, db_default=[], default=list, size=None, verbose_name='campaigns')),
                ('report', models.CharField(choices=[('agents', 'Agents work report'), ('queues', 'Queues report'), ('outbounds', 'Campaigns report'), ('tickets', 'Tickets report')], db_default='agents', default='agents', max_length=10, verbose_name='report')),
            ],
            options={
                'verbose_name': 'export of the report',
                'verbose_name_plural': 'exports of the report',
                'ordering': ['-id'],
                'indexes': [models.Index(condition=models.Q(('state__in', ['queued', 'running'])), fields=['id'], name='export_waiting'), models.Index(condition=models.Q(('due_at__isnull', False)), fields=['due_at'], name='export_scheduled'), models.Index(condition=models.Q(('actor_kind', 'user')), fields=['actor_id', '-id'], name='export_of_user')],
                'constraints': [models.UniqueConstraint(fields=('schedule', 'due_at'), name='export_once_a_turn')],
            },
        ),
        migrations.CreateModel(
            name='ScheduleChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='time')),
                ('actor_kind', models.CharField(choices=[('api_user', 'API user'), ('user', 'user'), ('agent', 'agent'), ('import', 'import'), ('dialler', 'dialler'), ('system', 'system')], max_length=10, verbose_name='kind of actor')),
                ('actor_id', models.BigIntegerField(null=True)),
                ('actor_name', models.CharField(max_length=150, verbose_name='actor')),
                ('action', models.CharField(max_length=30, verbose_name='action')),
                ('changes', models.JSONField(default=dict, verbose_name='changes')),
                ('schedule', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='changes', to='reports.schedule', verbose_name='scheduled report')),
                ('actor_address', models.GenericIPAddressField(null=True, verbose_name='address')),
            ],
            options={
                'verbose_name': 'change of a scheduled report',
                'verbose_name_plural': 'changes of scheduled reports',
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='ExportMail',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('recipient', models.CharField(max_length=320, verbose_name='to')),
                ('state', models.CharField(choices=[('queued', 'queued'), ('sent', 'sent'), ('written', 'written to a file, not sent'), ('failed', 'failed')], default='queued', max_length=10, verbose_name='state')),
                ('attempt_count', models.PositiveSmallIntegerField(default=0, verbose_name='attempts')),
                ('next_attempt_at', models.DateTimeField(default=django.utils.timezone.now, null=True, verbose_name='next attempt')),
                ('sent_at', models.DateTimeField(null=True, verbose_name='sent')),
                ('error', models.CharField(blank=True, max_length=500, verbose_name='error')),
                ('export', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='mails', to='reports.export', verbose_name='export of the report')),
            ],
            options={
                'verbose_name': 'mail of an export',
                'verbose_name_plural': 'mails of exports',
                'ordering': ['id'],
                'indexes': [models.Index(condition=models.Q(('state', 'queued')), fields=['next_attempt_at'], name='exportmail_due')],
                'constraints': [models.UniqueConstraint(fields=('export', 'recipient'), name='exportmail_is_unique')],
            },
        ),
        ]),
        *(migrations.RunSQL(_create(*ledger)) for ledger in LEDGERS),
        # Of each level, the time from which rollups are kept.
        migrations.RunSQL("INSERT INTO reports_rollupprogress (level, until) VALUES (2, now()), (4, now())"),
    ]
