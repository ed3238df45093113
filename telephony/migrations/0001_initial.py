import callcentre.core.opening_hours
import datetime
import django.contrib.postgres.constraints
import django.contrib.postgres.fields.ranges
import django.contrib.postgres.indexes
import django.core.validators
import django.db.models.constraints
import django.db.models.deletion
import django.db.models.expressions
import django.db.models.functions.datetime
import django.db.models.functions.text
import django.db.models.lookups
import telephony.models.agent_intervals
from django.conf import settings
from django.contrib.postgres.operations import BtreeGistExtension
from callcentre.core.schema_operations import Together
from django.db import migrations, models


class Migration(migrations.Migration):
    # What databases had recorded before 1.0.0, beside this name.
    replaces = [("telephony", name) for name in (
        "0002_calls 0003_call_legs 0004_topics_and_transcriptions 0005_switch_commands 0006_ledger_newest "
        "0007_connection_results 0008_queues_left_copies_at_the_switch_and_rare_results 0009_agent_user "
        "0010_ledger_changes 0011_causes_and_notes_in_words 0012_offers_to_phones_that_could_not_be_reached "
        "0013_talks 0014_talks_of_transferred_calls 0015_unseen_ends 0016_join_overlapping_hours "
        "0017_hours_do_not_overlap 0018_words_of_the_trade 0019_calls_are_named_calls "
        "0020_legs_that_the_switch_refused 0021_calls_of_diallers 0022_preview_of_agents "
        "0023_standing_lines_in_calls 0024_endings_of_numbers 0025_audit 0026_wrap_ups_of_calls "
        "0027_recordings_by_day 0028_campaigns_of_calls_by_id 0029_wrap_ups_at_the_desk"
    ).split()]

    initial = True

    dependencies = [
        ('callcentre', '__first__'),
    ]

    operations = [
        # The exclusion constraints compare an agent's id in a GiST index.
        BtreeGistExtension(),
        Together([
        migrations.CreateModel(
            name='AgentGroup',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='changed')),
                ('name', models.CharField(max_length=100, unique=True, verbose_name='name')),
            ],
            options={
                'verbose_name': 'agent group',
                'verbose_name_plural': 'agent groups',
                'ordering': ['name', 'id'],
            },
        ),
        migrations.CreateModel(
            name='Queue',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='changed')),
                ('name', models.CharField(max_length=100, unique=True, verbose_name='name')),
                ('is_active', models.BooleanField(default=True, verbose_name='active')),
                ('number', models.CharField(blank=True, help_text='Calls to this number enter the queue.', max_length=40, validators=[django.core.validators.RegexValidator('\\A\\+?[0-9]+\\Z', 'A number has digits, and may begin with +.')], verbose_name='number')),
                ('priority', models.PositiveSmallIntegerField(default=50, help_text='Of queues with the same agents the lower number is served first.', verbose_name='priority')),
                ('wrap_up_seconds', models.PositiveIntegerField(default=10, validators=[django.core.validators.MaxValueValidator(3600)], verbose_name='wrap-up time in s')),
                ('ring_seconds', models.PositiveIntegerField(default=20, help_text="How long an agent's phone rings before the call goes on to the next.", validators=[django.core.validators.MinValueValidator(3), django.core.validators.MaxValueValidator(300)], verbose_name='ringing time in s')),
                ('longest_wait_seconds', models.PositiveIntegerField(default=600, help_text='After it the call overflows; 0 for no limit.', verbose_name='longest wait in s')),
                ('overflow_number', models.CharField(blank=True, help_text='Where callers go who waited too long or call outside the opening hours; empty: they are disconnected.', max_length=40, verbose_name='overflow number')),
                ('music_class', models.CharField(default='default', max_length=40, verbose_name='music on hold')),
                ('overflow_queue', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='telephony.queue', verbose_name='overflow queue')),
                ('topic_minutes', models.PositiveSmallIntegerField(db_default=0, default=0, help_text='At the desk the wrap-up lasts until the call has a topic, at most so long; 0: no topic is required.', validators=[django.core.validators.MaxValueValidator(60)], verbose_name='wait for the topic in min')),
            ],
            options={
                'verbose_name': 'queue',
                'verbose_name_plural': 'queues',
                'ordering': ['name', 'id'],
                'constraints': [models.UniqueConstraint(condition=models.Q(('number', ''), _negated=True), fields=('number',), name='queue_number_is_unique', violation_error_message='Another queue has this number.'), models.CheckConstraint(condition=models.Q(('overflow_queue__isnull', True), ('overflow_number', ''), _connector='OR'), name='queue_overflows_to_one_place', violation_error_message='A queue overflows to a queue or to a number, not to both.'), models.CheckConstraint(condition=models.Q(('overflow_queue', models.F('id')), _negated=True), name='queue_overflows_elsewhere', violation_error_message='A queue does not overflow to itself.')],
            },
        ),
        migrations.CreateModel(
            name='Pause',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='changed')),
                ('name', models.CharField(max_length=100, unique=True, verbose_name='name')),
                ('is_active', models.BooleanField(default=True, verbose_name='active')),
                ('order', models.PositiveIntegerField(default=50, verbose_name='order')),
            ],
            options={
                'verbose_name': 'pause',
                'verbose_name_plural': 'pauses',
                'ordering': ['order', 'id'],
            },
        ),
        migrations.CreateModel(
            name='SwitchContact',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('heard_at', models.DateTimeField(verbose_name='heard')),
            ],
            options={
                'verbose_name': 'contact with the switch',
                'verbose_name_plural': 'contacts with the switch',
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='TranscriptionUsage',
            fields=[
                ('month', models.CharField(max_length=7, primary_key=True, serialize=False, verbose_name='month')),
                ('seconds', models.PositiveBigIntegerField(default=0, verbose_name='seconds')),
            ],
            options={
                'verbose_name': 'minutes transcribed in a month',
                'verbose_name_plural': 'minutes transcribed by month',
                'ordering': ['-month'],
            },
        ),
        migrations.CreateModel(
            name='SwitchCommand',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=30)),
                ('arguments', models.JSONField(default=dict)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('taken_at', models.DateTimeField(null=True)),
                ('done_at', models.DateTimeField(null=True)),
                ('answer', models.JSONField(null=True)),
                ('error', models.CharField(blank=True, max_length=200)),
                ('cause', models.PositiveSmallIntegerField(null=True)),
            ],
            options={
                'ordering': ['id'],
                'indexes': [models.Index(condition=models.Q(('taken_at__isnull', True)), fields=['id'], name='switchcommand_open')],
            },
        ),
        migrations.CreateModel(
            name='Agent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='changed')),
                ('login', models.CharField(error_messages={'unique': 'Another agent has this login.'}, max_length=100, unique=True, verbose_name='login')),
                ('name', models.CharField(max_length=100, verbose_name='name')),
                ('surname', models.CharField(blank=True, max_length=100, verbose_name='surname')),
                ('email', models.EmailField(blank=True, max_length=254, verbose_name='e-mail')),
                ('is_active', models.BooleanField(default=True, verbose_name='active')),
                ('number', models.CharField(blank=True, max_length=40, validators=[django.core.validators.RegexValidator('\\A[0-9A-Za-z._-]+\\Z', 'A SIP number has letters, digits and . _ - only.')], verbose_name='SIP number')),
                ('outbound_mode', models.BooleanField(default=False, help_text='Takes calls of campaigns as well as of queues.', verbose_name='outbound mode')),
                ('group', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='agents', to='telephony.agentgroup', verbose_name='group')),
                ('user', models.OneToOneField(blank=True, error_messages={'unique': 'Another agent is this user.'}, help_text='Who logs in as this user replies to tickets as this agent.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='agent', to=settings.AUTH_USER_MODEL, verbose_name='back-office user')),
                ('has_line', models.BooleanField(db_default=False, default=False, help_text='The phone stays connected between the calls of a campaign, so that answered calls are joined at once.', verbose_name='standing line')),
            ],
            options={
                'verbose_name': 'agent',
                'verbose_name_plural': 'agents',
                'ordering': ['login'],
                'constraints': [models.CheckConstraint(condition=models.Q(('login', ''), _negated=True), name='agent_login_is_set'), models.UniqueConstraint(condition=models.Q(('number', ''), _negated=True), fields=('number',), name='agent_number_is_unique', violation_error_message='Another agent has this number.')],
            },
        ),
        migrations.CreateModel(
            name='OpeningHours',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('weekday', models.PositiveSmallIntegerField(choices=[(1, 'Monday'), (2, 'Tuesday'), (3, 'Wednesday'), (4, 'Thursday'), (5, 'Friday'), (6, 'Saturday'), (7, 'Sunday')], verbose_name='day')),
                ('opens_at', models.TimeField(verbose_name='opens')),
                ('closes_at', models.TimeField(verbose_name='closes')),
                ('queue', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='opening_hours', to='telephony.queue', verbose_name='queue')),
            ],
            options={
                'verbose_name': 'opening hours',
                'verbose_name_plural': 'opening hours',
                'ordering': ['weekday', 'opens_at', 'id'],
                'abstract': False,
                'constraints': [models.CheckConstraint(condition=models.Q(('opens_at__lt', models.F('closes_at')), ('closes_at', '00:00'), _connector='OR'), name='openinghours_open_before_they_close', violation_error_message='It opens before it closes.'), callcentre.core.opening_hours.HoursApart(deferrable=django.db.models.constraints.Deferrable['DEFERRED'], expressions=[('queue', '='), ('weekday', '='), (callcentre.core.opening_hours._Seconds(), '&&')], name='openinghours_do_not_overlap')],
            },
        ),
        migrations.CreateModel(
            name='EvaluationCriterion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='changed')),
                ('name', models.CharField(max_length=100, unique=True, verbose_name='name')),
                ('description', models.TextField(help_text='What must be true of the conversation, as you would say it to a new supervisor.', max_length=1000, verbose_name='description')),
                ('is_active', models.BooleanField(default=True, verbose_name='active')),
                ('order', models.PositiveIntegerField(default=50, verbose_name='order')),
                ('queue', models.ForeignKey(blank=True, help_text='Of whose calls; empty for all calls.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='criteria', to='telephony.queue', verbose_name='queue')),
            ],
            options={
                'verbose_name': 'evaluation criterion',
                'verbose_name_plural': 'evaluation criteria',
                'ordering': ['order', 'id'],
            },
        ),
        migrations.CreateModel(
            name='TopicField',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='changed')),
                ('name', models.CharField(max_length=100, verbose_name='name')),
                ('type', models.CharField(choices=[('TEXT', 'text'), ('LONG_TEXT', 'long text'), ('NUMBER', 'number'), ('DATE', 'date'), ('BOOLEAN', 'yes or no')], default='TEXT', max_length=10, verbose_name='type')),
                ('is_required', models.BooleanField(default=False, verbose_name='required')),
                ('is_active', models.BooleanField(default=True, verbose_name='active')),
                ('order', models.PositiveIntegerField(default=50, verbose_name='order')),
                ('queue', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='topic_fields', to='telephony.queue', verbose_name='queue')),
            ],
            options={
                'verbose_name': 'field of calls',
                'verbose_name_plural': 'fields of calls',
                'ordering': ['order', 'id'],
                'constraints': [models.UniqueConstraint(fields=('queue', 'name'), name='topicfield_name_is_unique', violation_error_message='The queue already has a field of this name.')],
            },
        ),
        migrations.CreateModel(
            name='TopicGroup',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='changed')),
                ('name', models.CharField(max_length=100, verbose_name='name')),
                ('is_active', models.BooleanField(default=True, verbose_name='active')),
                ('order', models.PositiveIntegerField(default=50, verbose_name='order')),
                ('queue', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='topic_groups', to='telephony.queue', verbose_name='queue')),
            ],
            options={
                'verbose_name': 'topic group',
                'verbose_name_plural': 'topic groups',
                'ordering': ['order', 'id'],
                'constraints': [models.UniqueConstraint(fields=('queue', 'name'), name='topicgroup_name_is_unique', violation_error_message='The queue already has a group of this name.')],
            },
        ),
        migrations.CreateModel(
            name='TransferShortcut',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='changed')),
                ('name', models.CharField(max_length=100, unique=True, verbose_name='name')),
                ('number', models.CharField(blank=True, max_length=100, verbose_name='number')),
                ('icon', models.BinaryField(blank=True, default=b'', verbose_name='icon')),
                ('order', models.PositiveIntegerField(default=50, verbose_name='order')),
                ('queue', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='shortcuts', to='telephony.queue', verbose_name='queue')),
            ],
            options={
                'verbose_name': 'transfer shortcut',
                'verbose_name_plural': 'transfer shortcuts',
                'ordering': ['order', 'id'],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('number', ''), ('queue__isnull', False)), models.Q(('queue__isnull', True), models.Q(('number', ''), _negated=True)), _connector='OR'), name='transfershortcut_leads_to_one_place', violation_error_message='A shortcut leads to a queue or to a number: give one of them.')],
            },
        ),
        migrations.CreateModel(
            name='Connection',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('direction', models.CharField(choices=[('INBOUND', 'inbound'), ('OUTBOUND', 'outbound')], max_length=8, verbose_name='direction')),
                ('state', models.CharField(choices=[('queued', 'to be placed'), ('originating', 'ringing the agent'), ('dialling', 'ringing the customer'), ('waiting', 'waiting in a queue'), ('talking', 'talking'), ('detecting', 'detecting an answering machine'), ('playing', 'hearing a message'), ('ended', 'ended')], max_length=12, verbose_name='state')),
                ('src', models.CharField(max_length=100, verbose_name='from')),
                ('dst', models.CharField(max_length=100, verbose_name='to')),
                ('src_number', models.CharField(editable=False, max_length=64)),
                ('dst_number', models.CharField(editable=False, max_length=64)),
                ('customer_id', models.BigIntegerField(null=True, verbose_name='customer')),
                ('caller_id', models.CharField(blank=True, max_length=100, verbose_name='number presented')),
                ('created_at', models.DateTimeField(verbose_name='start')),
                ('waiting_since', models.DateTimeField(null=True)),
                ('answered_at', models.DateTimeField(null=True, verbose_name='answered')),
                ('ended_at', models.DateTimeField(null=True, verbose_name='end')),
                ('disposition', models.CharField(blank=True, choices=[('ANSWERED', 'answered'), ('BUSY', 'busy'), ('NO ANSWER', 'no answer'), ('FAILED', 'failed')], max_length=10, verbose_name='result')),
                ('cause', models.PositiveSmallIntegerField(null=True, verbose_name='cause (Q.850)')),
                ('hung_up_by', models.CharField(blank=True, choices=[('agent', 'agent'), ('customer', 'customer'), ('target', 'target of a transfer'), ('system', 'system')], max_length=10, verbose_name='hung up by')),
                ('ring_seconds', models.PositiveIntegerField(default=0, verbose_name='ringing in s')),
                ('wait_seconds', models.PositiveIntegerField(default=0, verbose_name='waiting in s')),
                ('is_on_hold', models.BooleanField(default=False, verbose_name='on hold')),
                ('place_until', models.DateTimeField(null=True)),
                ('request_id', models.CharField(blank=True, max_length=64)),
                ('agent', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='connections', to='telephony.agent', verbose_name='agent')),
                ('queue', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='connections', to='telephony.queue', verbose_name='queue')),
                ('join_count', models.PositiveSmallIntegerField(default=0, editable=False)),
                ('cause_text', models.CharField(blank=True, db_default='', default='', max_length=200, verbose_name='reason')),
                ('has_talks', models.BooleanField(db_default=False, default=False, editable=False)),
                ('end_found_at', models.DateTimeField(editable=False, null=True)),
                ('campaign_code', models.CharField(blank=True, db_default='', default='', max_length=5, verbose_name='campaign')),
                ('campaign_wrap_up_seconds', models.PositiveSmallIntegerField(db_default=0, default=0, editable=False)),
                ('record_id', models.BigIntegerField(editable=False, null=True)),
                ('uses_line', models.BooleanField(db_default=False, default=False, editable=False)),
                ('campaign_id', models.BigIntegerField(editable=False, null=True)),
            ],
            options={
                'verbose_name': 'call',
                'verbose_name_plural': 'calls',
                'ordering': ['-created_at', '-id'],
                'indexes': [models.Index(fields=['-created_at', '-id'], name='connection_newest'), models.Index(fields=['agent', '-created_at', '-id', 'direction', 'disposition', 'queue'], name='connection_of_agent'), models.Index(fields=['queue', '-created_at', '-id', 'direction', 'disposition'], name='connection_of_queue'), models.Index(fields=['src_number', '-created_at', '-id'], name='connection_src'), models.Index(fields=['dst_number', '-created_at', '-id'], name='connection_dst'), models.Index(fields=['direction', 'disposition', '-created_at', '-id'], name='connection_of_result'), models.Index(condition=models.Q(('customer_id__isnull', False)), fields=['customer_id', '-created_at'], name='connection_of_customer'), models.Index(condition=models.Q(('state', 'ended'), _negated=True), fields=['state', 'queue', 'waiting_since'], name='connection_open'), models.Index(condition=models.Q(django.db.models.lookups.GreaterThan(django.db.models.expressions.CombinedExpression(models.F('ended_at'), '-', models.F('created_at')), models.Value(datetime.timedelta(seconds=21600)))), fields=['agent'], name='connection_long'), models.Index(django.contrib.postgres.indexes.OpClass(django.db.models.functions.text.Reverse(models.Case(models.When(direction='INBOUND', then=models.F('src_number')), default=models.F('dst_number'))), name='text_pattern_ops'), condition=models.Q(('state', 'ended')), name='connection_ending')],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('ended_at__isnull', False), ('state', 'ended'), models.Q(('disposition', ''), _negated=True)), models.Q(models.Q(('state', 'ended'), _negated=True), ('ended_at__isnull', True)), _connector='OR'), name='connection_ended_is_final')],
            },
        ),
        migrations.CreateModel(
            name='AgentLine',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('channel_id', models.CharField(max_length=80, unique=True, verbose_name='channel')),
                ('state', models.CharField(choices=[('asked', 'asked for'), ('ringing', 'ringing'), ('up', 'up'), ('refused', 'refused'), ('ended', 'ended')], default='asked', max_length=10, verbose_name='state')),
                ('asked_at', models.DateTimeField(verbose_name='asked for')),
                ('up_at', models.DateTimeField(null=True, verbose_name='up')),
                ('ended_at', models.DateTimeField(null=True, verbose_name='ended')),
                ('hangup_asked_at', models.DateTimeField(null=True)),
                ('connection_id', models.BigIntegerField(null=True)),
                ('cause', models.PositiveSmallIntegerField(null=True, verbose_name='cause (Q.850)')),
                ('cause_text', models.CharField(blank=True, max_length=200, verbose_name='reason')),
                ('agent', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='lines', to='telephony.agent', verbose_name='agent')),
                ('called_at', models.DateTimeField(null=True)),
                ('joined_at', models.DateTimeField(null=True)),
                ('role', models.CharField(blank=True, db_default='', default='', max_length=10)),
            ],
            options={
                'verbose_name': 'standing line',
                'verbose_name_plural': 'standing lines',
                'ordering': ['-id'],
                'indexes': [models.Index(fields=['agent', '-id'], name='agentline_of_agent'), models.Index(condition=models.Q(('connection_id__isnull', False)), fields=['connection_id'], name='agentline_in_call')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('ended_at', None)), fields=('agent',), name='agentline_one_open_of_agent')],
            },
        ),
        migrations.CreateModel(
            name='AgentSession',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('started_at', models.DateTimeField(verbose_name='logged in')),
                ('ended_at', models.DateTimeField(null=True, verbose_name='logged out')),
                ('ended_by', models.CharField(blank=True, choices=[('logout', 'logged out'), ('limit', 'closed by the limit')], max_length=10, verbose_name='ended by')),
                ('agent', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='sessions', to='telephony.agent', verbose_name='agent')),
            ],
            options={
                'verbose_name': 'session of an agent',
                'verbose_name_plural': 'sessions of agents',
                'ordering': ['-started_at', '-id'],
                'indexes': [models.Index(fields=['agent', 'started_at'], name='agentsession_of_agent'), models.Index(fields=['-started_at', '-id'], name='agentsession_newest'), models.Index(condition=models.Q(('ended_at__isnull', True)), fields=['agent'], name='agentsession_open')],
                'constraints': [django.contrib.postgres.constraints.ExclusionConstraint(expressions=[('agent', '='), (telephony.models.agent_intervals._Span('started_at', 'ended_at', django.contrib.postgres.fields.ranges.RangeBoundary()), '&&')], name='agentsession_no_two_at_once'), models.CheckConstraint(condition=models.Q(('ended_at__isnull', True), ('ended_at__gte', models.F('started_at')), _connector='OR'), name='agentsession_ends_after_it_starts')],
            },
        ),
        migrations.CreateModel(
            name='LedgerChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('since', models.DateTimeField(verbose_name='from')),
                ('until', models.DateTimeField(verbose_name='to')),
                ('agent', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='telephony.agent', verbose_name='agent')),
            ],
            options={
                'verbose_name': 'change of the ledgers',
                'verbose_name_plural': 'changes of the ledgers',
                'ordering': ['id'],
                'indexes': [models.Index(fields=['agent'], name='ledgerchange_of_agent')],
            },
        ),
        migrations.CreateModel(
            name='QueueMember',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('priority', models.PositiveSmallIntegerField(default=50, verbose_name='priority')),
                ('agent', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to='telephony.agent', verbose_name='agent')),
                ('queue', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='members', to='telephony.queue', verbose_name='queue')),
            ],
            options={
                'verbose_name': 'agent of a queue',
                'verbose_name_plural': 'agents of a queue',
                'ordering': ['priority', 'id'],
                'constraints': [models.UniqueConstraint(fields=('queue', 'agent'), name='queuemember_is_unique')],
            },
        ),
        migrations.CreateModel(
            name='Topic',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='changed')),
                ('name', models.CharField(max_length=200, verbose_name='name')),
                ('is_active', models.BooleanField(default=True, verbose_name='active')),
                ('show_custom_fields', models.BooleanField(default=False, help_text='Agents fill in the fields of the queue along with this topic.', verbose_name='with fields')),
                ('order', models.PositiveIntegerField(default=50, verbose_name='order')),
                ('group', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='topics', to='telephony.topicgroup', verbose_name='group')),
            ],
            options={
                'verbose_name': 'topic',
                'verbose_name_plural': 'topics',
                'ordering': ['order', 'id'],
                'constraints': [models.UniqueConstraint(fields=('group', 'name'), name='topic_name_is_unique', violation_error_message='The group already has a topic of this name.')],
            },
        ),
        migrations.CreateModel(
            name='Transcription',
            fields=[
                ('connection', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='transcription', serialize=False, to='telephony.connection', verbose_name='call')),
                ('status', models.CharField(choices=[('PENDING', 'in progress'), ('SUCCESS', 'ready'), ('ERROR', 'failed'), ('LIMIT_EXCEEDED', 'limit exceeded')], default='PENDING', max_length=14, verbose_name='status')),
                ('parts', models.JSONField(null=True, verbose_name='parts')),
                ('seconds', models.FloatField(default=0, verbose_name='length in s')),
                ('summary', models.JSONField(null=True, verbose_name='summary')),
                ('sentiment', models.JSONField(null=True, verbose_name='sentiment')),
                ('evaluated_criteria', models.JSONField(null=True, verbose_name='evaluated criteria')),
                ('created_at', models.DateTimeField(verbose_name='requested')),
                ('finished_at', models.DateTimeField(null=True, verbose_name='finished')),
                ('attempt_count', models.PositiveSmallIntegerField(db_column='attempts', default=0, verbose_name='attempts')),
                ('claim_number', models.PositiveIntegerField(default=0)),
                ('next_attempt_at', models.DateTimeField(null=True, verbose_name='next attempt')),
                ('error', models.CharField(blank=True, max_length=300, verbose_name='error')),
                ('charged_seconds', models.PositiveIntegerField(default=0)),
                ('charged_month', models.CharField(blank=True, max_length=7)),
                ('requested_by', models.CharField(blank=True, max_length=150, verbose_name='requested by')),
            ],
            options={
                'verbose_name': 'transcription',
                'verbose_name_plural': 'transcriptions',
                'ordering': ['-connection_id'],
                'indexes': [models.Index(condition=models.Q(('status', 'PENDING')), fields=['next_attempt_at'], name='transcription_queue'), models.Index(fields=['status', '-connection'], name='transcription_status')],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('status', 'PENDING'), _negated=True), ('next_attempt_at__isnull', False), _connector='OR'), name='transcription_pending_is_due')],
            },
        ),
        migrations.CreateModel(
            name='CallCommand',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('hang_up', 'hang up'), ('hold', 'hold'), ('resume', 'resume'), ('transfer', 'transfer')], max_length=10, verbose_name='command')),
                ('arguments', models.JSONField(default=dict)),
                ('actor_kind', models.CharField(max_length=10)),
                ('actor_id', models.BigIntegerField(null=True)),
                ('actor_name', models.CharField(max_length=150, verbose_name='actor')),
                ('created_at', models.DateTimeField(verbose_name='asked')),
                ('done_at', models.DateTimeField(null=True, verbose_name='done')),
                ('error', models.CharField(blank=True, max_length=200, verbose_name='error')),
                ('connection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='commands', to='telephony.connection', verbose_name='call')),
            ],
            options={
                'verbose_name': 'command',
                'verbose_name_plural': 'commands',
                'ordering': ['id'],
                'indexes': [models.Index(condition=models.Q(('done_at__isnull', True)), fields=['id'], name='callcommand_open')],
            },
        ),
        migrations.CreateModel(
            name='Leg',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('agent', 'agent'), ('customer', 'customer'), ('target', 'target of a transfer')], max_length=10, verbose_name='role')),
                ('number', models.CharField(max_length=100, verbose_name='number')),
                ('channel_id', models.CharField(max_length=80, unique=True, verbose_name='channel')),
                ('state', models.CharField(choices=[('asked', 'asked for'), ('ringing', 'ringing'), ('up', 'up'), ('refused', 'refused'), ('ended', 'ended')], default='asked', max_length=10, verbose_name='state')),
                ('asked_at', models.DateTimeField(verbose_name='asked for')),
                ('up_at', models.DateTimeField(null=True, verbose_name='up')),
                ('ended_at', models.DateTimeField(null=True, verbose_name='ended')),
                ('hangup_asked_at', models.DateTimeField(null=True)),
                ('cause', models.PositiveSmallIntegerField(null=True, verbose_name='cause (Q.850)')),
                ('tech_cause', models.CharField(blank=True, max_length=10, verbose_name='SIP')),
                ('agent', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='telephony.agent')),
                ('connection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='legs', to='telephony.connection', verbose_name='call')),
                ('ringing_at', models.DateTimeField(null=True, verbose_name='ringing since')),
                ('cause_text', models.CharField(blank=True, db_default='', default='', max_length=200, verbose_name='reason')),
            ],
            options={
                'verbose_name': 'leg',
                'verbose_name_plural': 'legs',
                'ordering': ['id'],
                'indexes': [models.Index(condition=models.Q(('ended_at__isnull', True)), fields=['asked_at'], name='leg_open')],
            },
        ),
        migrations.CreateModel(
            name='AgentState',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('free', 'ready'), ('preview', 'preview'), ('ringing', 'ringing'), ('talking', 'talking'), ('wrap_up', 'wrap-up'), ('paused', 'paused')], max_length=10, verbose_name='state')),
                ('started_at', models.DateTimeField(verbose_name='from')),
                ('ended_at', models.DateTimeField(null=True, verbose_name='to')),
                ('ends_at', models.DateTimeField(null=True)),
                ('resumes_as', models.CharField(blank=True, max_length=10)),
                ('agent', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='states', to='telephony.agent', verbose_name='agent')),
                ('connection', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='agent_states', to='telephony.connection', verbose_name='call')),
                ('pause', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='telephony.pause', verbose_name='pause')),
                ('resumes_pause', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='telephony.pause')),
                ('awaits_topic', models.BooleanField(db_default=False, default=False)),
                ('is_extended', models.BooleanField(db_default=False, default=False)),
            ],
            options={
                'verbose_name': 'state of an agent',
                'verbose_name_plural': 'states of agents',
                'ordering': ['-started_at', '-id'],
                'indexes': [models.Index(fields=['agent', 'started_at'], name='agentstate_of_agent'), models.Index(fields=['-started_at', '-id'], name='agentstate_newest'), models.Index(condition=models.Q(('ended_at__isnull', True)), fields=['kind', 'started_at'], name='agentstate_current'), models.Index(condition=models.Q(('kind', 'wrap_up')), fields=['connection'], name='agentstate_wrap_up_of_call')],
                'constraints': [django.contrib.postgres.constraints.ExclusionConstraint(expressions=[('agent', '='), (telephony.models.agent_intervals._Span('started_at', 'ended_at', django.contrib.postgres.fields.ranges.RangeBoundary()), '&&')], name='agentstate_no_two_at_once'), models.CheckConstraint(condition=models.Q(('ended_at__isnull', True), ('ended_at__gte', models.F('started_at')), _connector='OR'), name='agentstate_ends_after_it_starts'), models.CheckConstraint(condition=models.Q(models.Q(('kind', 'paused'), ('pause__isnull', False)), models.Q(models.Q(('kind', 'paused'), _negated=True), ('pause__isnull', True)), _connector='OR'), name='agentstate_pause_has_its_reason')],
            },
        ),
        migrations.CreateModel(
            name='Offer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('offered_at', models.DateTimeField(verbose_name='offered')),
                ('answered_at', models.DateTimeField(null=True, verbose_name='answered')),
                ('ended_at', models.DateTimeField(null=True, verbose_name='ended')),
                ('transferred_at', models.DateTimeField(null=True, verbose_name='transferred')),
                ('outcome', models.CharField(choices=[('ringing', 'ringing'), ('answered', 'answered'), ('not_answered', 'not answered'), ('refused', 'refused'), ('abandoned', 'the caller gave up'), ('failed', 'the phone could not be reached')], default='ringing', max_length=12, verbose_name='outcome')),
                ('agent', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='offers', to='telephony.agent', verbose_name='agent')),
                ('connection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='offers', to='telephony.connection', verbose_name='call')),
                ('queue', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='offers', to='telephony.queue', verbose_name='queue')),
            ],
            options={
                'verbose_name': 'offer',
                'verbose_name_plural': 'offers',
                'ordering': ['id'],
                'indexes': [models.Index(fields=['agent', 'offered_at'], name='offer_of_agent'), models.Index(condition=models.Q(django.db.models.lookups.GreaterThan(django.db.models.expressions.CombinedExpression(models.F('ended_at'), '-', models.F('offered_at')), models.Value(datetime.timedelta(seconds=21600)))), fields=['agent'], name='offer_long')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('ended_at__isnull', True)), fields=('connection',), name='offer_one_open_of_connection'), models.UniqueConstraint(condition=models.Q(('ended_at__isnull', True)), fields=('agent',), name='offer_one_open_of_agent')],
            },
        ),
        migrations.CreateModel(
            name='Recording',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=60, unique=True, verbose_name='name')),
                ('state', models.CharField(choices=[('expected', 'being recorded'), ('fetching', 'being fetched'), ('ready', 'ready'), ('failed', 'failed'), ('removed', 'removed')], default='expected', max_length=10, verbose_name='state')),
                ('file', models.FileField(blank=True, max_length=200, upload_to='', verbose_name='file')),
                ('size', models.PositiveBigIntegerField(default=0, verbose_name='size in bytes')),
                ('seconds', models.FloatField(default=0, verbose_name='length in s')),
                ('started_at', models.DateTimeField(verbose_name='start')),
                ('ready_at', models.DateTimeField(null=True, verbose_name='ready')),
                ('attempt_count', models.PositiveSmallIntegerField(db_column='attempts', default=0, verbose_name='attempts')),
                ('next_attempt_at', models.DateTimeField(null=True)),
                ('error', models.CharField(blank=True, max_length=300, verbose_name='error')),
                ('is_considered', models.BooleanField(default=False)),
                ('connection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='recordings', to='telephony.connection', verbose_name='call')),
                ('leaves_switch_at', models.DateTimeField(null=True)),
            ],
            options={
                'verbose_name': 'recording',
                'verbose_name_plural': 'recordings',
                'ordering': ['-id'],
                'indexes': [models.Index(condition=models.Q(('state__in', ['expected', 'fetching'])), fields=['state', 'next_attempt_at'], name='recording_open'), models.Index(condition=models.Q(('is_considered', False), ('state', 'ready')), fields=['-id'], name='recording_considered'), models.Index(condition=models.Q(('state', 'ready')), fields=['ready_at'], name='recording_kept'), models.Index(condition=models.Q(('leaves_switch_at__isnull', False)), fields=['leaves_switch_at'], name='recording_on_switch'), models.Index(fields=['state', '-id'], name='recording_state'), models.Index(fields=['-started_at', '-id'], name='recording_newest')],
            },
        ),
        migrations.CreateModel(
            name='Talk',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('counted_at', models.DateTimeField()),
                ('started_at', models.DateTimeField(verbose_name='start')),
                ('ended_at', models.DateTimeField(null=True, verbose_name='end')),
                ('agent', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='telephony.agent', verbose_name='agent')),
                ('connection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='talks', to='telephony.connection', verbose_name='call')),
                ('queue', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='telephony.queue', verbose_name='queue')),
            ],
            options={
                'verbose_name': 'talk',
                'verbose_name_plural': 'talks',
                'ordering': ['id'],
                'indexes': [models.Index(fields=['agent', 'counted_at'], name='talk_of_agent'), models.Index(condition=models.Q(django.db.models.lookups.GreaterThan(django.db.models.expressions.CombinedExpression(models.F('ended_at'), '-', models.F('counted_at')), models.Value(datetime.timedelta(seconds=21600)))), fields=['agent'], name='talk_long')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('ended_at__isnull', True)), fields=('connection',), name='talk_one_open_of_connection')],
            },
        ),
        migrations.CreateModel(
            name='Transfer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='time')),
                ('actor_kind', models.CharField(choices=[('api_user', 'API user'), ('user', 'user'), ('agent', 'agent'), ('import', 'import'), ('dialler', 'dialler'), ('system', 'system')], max_length=10, verbose_name='kind of actor')),
                ('actor_id', models.BigIntegerField(null=True)),
                ('actor_name', models.CharField(max_length=150, verbose_name='actor')),
                ('action', models.CharField(max_length=30, verbose_name='action')),
                ('changes', models.JSONField(default=dict, verbose_name='changes')),
                ('number', models.CharField(blank=True, max_length=100, verbose_name='to number')),
                ('connection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='transfers', to='telephony.connection', verbose_name='call')),
                ('from_agent', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='telephony.agent', verbose_name='from agent')),
                ('queue', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='telephony.queue', verbose_name='to queue')),
                ('from_queue', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='telephony.queue', verbose_name='from queue')),
                ('note', models.CharField(blank=True, db_default='', default='', max_length=302, verbose_name='note')),
                ('actor_address', models.GenericIPAddressField(null=True, verbose_name='address')),
            ],
            options={
                'verbose_name': 'transfer',
                'verbose_name_plural': 'transfers',
                'ordering': ['id'],
                'indexes': [models.Index(fields=['-at'], name='transfer_at')],
            },
        ),
        migrations.CreateModel(
            name='ConnectionTopic',
            fields=[
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='changed')),
                ('connection', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='topic', serialize=False, to='telephony.connection', verbose_name='call')),
                ('comment', models.TextField(blank=True, verbose_name='comment')),
                ('fields', models.JSONField(default=list, verbose_name='fields')),
                ('set_by', models.CharField(max_length=150, verbose_name='set by')),
                ('agent', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='telephony.agent', verbose_name='agent')),
                ('topic', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='telephony.topic', verbose_name='topic')),
            ],
            options={
                'verbose_name': 'topic of a call',
                'verbose_name_plural': 'topics of calls',
                'ordering': ['-connection_id'],
            },
        ),
        migrations.AddField(
            model_name='queue',
            name='agents',
            field=models.ManyToManyField(related_name='queues', through='telephony.QueueMember', to='telephony.agent', verbose_name='agents'),
        ),
        ])]
