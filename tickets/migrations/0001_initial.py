import callcentre.core.changes
import callcentre.core.encryption
import callcentre.core.opening_hours
import callcentre.core.search
import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.core.validators
import django.db.models.constraints
import django.db.models.deletion
import django.db.models.functions.datetime
import django.db.models.functions.text
import django.utils.timezone
import tickets.models.ticket_queue
import uuid
import webhooks.signing
from django.conf import settings
from callcentre.core.schema_operations import Together
from django.db import migrations, models
from pathlib import Path

SQL = Path(__file__).with_suffix(".sql").read_text()


class Migration(migrations.Migration):
    # What databases had recorded before 1.0.0, beside this name.
    replaces = [("tickets", name) for name in (
        "0002_ticket_count 0003_statuses 0004_mail_out 0005_mail_in 0006_admin_indexes "
        "0007_open_tickets_and_senders 0008_partly_sent 0009_tags_found_and_outgoing_messages "
        "0010_mailbox_tests 0011_deleted_mail 0012_clean_texts 0013_customer_settings "
        "0014_customer_settings_row 0015_reply_to_and_content_of_mail 0016_targets_and_limits "
        "0017_open_targets 0018_hours_do_not_overlap 0019_words_of_the_trade "
        "0020_unusual_addresses_of_customers 0021_index_of_merged_tickets 0022_customer_time_zone "
        "0023_indexes_of_timelines 0024_indexes_of_searches 0025_tickets_with_words "
        "0026_words_and_beginnings 0027_audit 0028_closed_and_reopened_tickets 0029_lists_by_day "
        "0030_comments_that_answer 0031_answered_tickets 0032_beginnings_of_addresses_and_words_of_chats "
        "0033_chats_with_words"
    ).split()]

    initial = True

    dependencies = [
        ('callcentre', '0001_initial'),
        ('callcentre', '__first__'),
        ('telephony', '0001_initial'),
    ]

    operations = [Together([
        migrations.CreateModel(
            name='AcknowledgedAddress',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('address', models.CharField(max_length=320, unique=True)),
                ('acknowledged_at', models.DateTimeField()),
            ],
            options={
                'verbose_name': 'acknowledged address',
                'verbose_name_plural': 'acknowledged addresses',
                'ordering': ['address'],
            },
        ),
        migrations.CreateModel(
            name='TicketQueue',
            fields=[
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='changed')),
                ('id', models.BigIntegerField(db_default=tickets.models.ticket_queue._NextQueueId(), editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=100, unique=True, verbose_name='name')),
                ('is_active', models.BooleanField(default=True, verbose_name='active')),
                ('address', models.EmailField(blank=True, help_text='Replies are sent from it.', max_length=254, verbose_name='e-mail address')),
                ('sender_name', models.CharField(blank=True, max_length=100, verbose_name="sender's name")),
                ('signature', models.TextField(blank=True, help_text='HTML that ends every reply.', verbose_name='signature')),
                ('template', models.TextField(blank=True, help_text='HTML around a reply; {{ body }} and {{ signature }} stand in it.', verbose_name='template')),
                ('acknowledges', models.BooleanField(default=False, verbose_name='acknowledges new mail')),
                ('acknowledgement', models.TextField(blank=True, help_text='HTML of that mail.', verbose_name='acknowledgement')),
                ('imap_host', models.CharField(blank=True, max_length=200, verbose_name='IMAP server')),
                ('imap_port', models.PositiveIntegerField(default=993, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(65535)], verbose_name='IMAP port')),
                ('imap_uses_tls', models.BooleanField(default=True, help_text='From the first byte on, usually on port 993; without it STARTTLS, on 143.', verbose_name='TLS')),
                ('imap_user', models.CharField(blank=True, max_length=200, verbose_name='IMAP user')),
                ('imap_password', callcentre.core.encryption.EncryptedTextField(blank=True, verbose_name='IMAP password')),
                ('imap_folder', models.CharField(default='INBOX', max_length=200, verbose_name='folder')),
                ('imap_validity', models.BigIntegerField(editable=False, null=True)),
                ('imap_last_uid', models.BigIntegerField(default=0, editable=False)),
                ('polled_at', models.DateTimeField(editable=False, null=True, verbose_name='last polled')),
                ('poll_error', models.CharField(blank=True, editable=False, max_length=500, verbose_name='last error')),
                ('first_response_minutes', models.PositiveIntegerField(blank=True, help_text='To the first message of a ticket, and to each later one that no agent has answered.', null=True, verbose_name='response within min')),
                ('resolution_minutes', models.PositiveIntegerField(blank=True, null=True, verbose_name='resolution within min')),
                ('asks_for_rating', models.BooleanField(default=False, help_text='Each reply ends with a link by which it is rated.', verbose_name='asks for ratings')),
                ('language', models.CharField(choices=callcentre.core.changes.languages, default='en', help_text='Of what the service itself writes to customers.', max_length=10, verbose_name='language')),
                ('failing_since', models.DateTimeField(editable=False, null=True, verbose_name='failing since')),
                ('imap_pending', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, default=list, editable=False, size=None)),
                ('imap_stuck_count', models.PositiveSmallIntegerField(default=0, editable=False)),
                ('imap_stuck_uid', models.BigIntegerField(editable=False, null=True)),
                ('read_at', models.DateTimeField(editable=False, null=True, verbose_name='last read')),
                ('imap_allows_plain', models.BooleanField(db_default=False, default=False, help_text='User, password and mails can be read on the way. Only for servers within MAILBOX_ALLOWED_NETWORKS.', verbose_name='no encryption')),
                ('sender_limit', models.PositiveIntegerField(blank=True, db_default=50, default=50, help_text='Further ones go to quarantine: another machine may be answering ours. Empty: no limit.', null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='mails of one sender within an hour')),
                ('unlimited_senders', models.TextField(blank=True, db_default='', default='', help_text='One address (shop@partner.example) or domain (partner.example) a line.', verbose_name='senders without that limit')),
            ],
            options={
                'verbose_name': 'ticket queue',
                'verbose_name_plural': 'ticket queues',
                'ordering': ['name', 'id'],
                'constraints': [models.UniqueConstraint(condition=models.Q(('address', ''), _negated=True), fields=('address',), name='ticketqueue_address_is_unique', violation_error_message='Another queue has this address.')],
            },
        ),
        migrations.CreateModel(
            name='Marketplace',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='changed')),
                ('source', models.CharField(choices=[('email', 'e-mail'), ('phone', 'phone'), ('sms', 'SMS'), ('chat', 'chat'), ('www', 'web form'), ('marketplace_message', 'marketplace: message'), ('marketplace_dispute', 'marketplace: dispute')], max_length=20, unique=True, verbose_name='source')),
                ('url', models.URLField(max_length=2000, verbose_name='address')),
                ('http_auth_user', models.CharField(blank=True, max_length=200, verbose_name='user')),
                ('http_auth_password', callcentre.core.encryption.EncryptedTextField(blank=True, verbose_name='password')),
                ('is_active', models.BooleanField(default=True, verbose_name='active')),
                ('secret', callcentre.core.encryption.EncryptedTextField(default=webhooks.signing.new_secret, verbose_name='signing secret')),
            ],
            options={
                'verbose_name': 'marketplace',
                'verbose_name_plural': 'marketplaces',
                'ordering': ['source'],
                'constraints': [models.CheckConstraint(condition=models.Q(('source__in', ['marketplace_message', 'marketplace_dispute'])), name='marketplace_source_is_one')],
            },
        ),
        migrations.CreateModel(
            name='TicketCategory',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100, unique=True, verbose_name='name')),
                ('is_active', models.BooleanField(default=True, verbose_name='active')),
            ],
            options={
                'verbose_name': 'category',
                'verbose_name_plural': 'categories',
                'ordering': ['name', 'id'],
            },
        ),
        migrations.CreateModel(
            name='TicketStatus',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100, unique=True, verbose_name='name')),
                ('kind', models.CharField(choices=[('new', 'new'), ('waiting_for_customer', 'waiting for customer'), ('postponed', 'postponed'), ('merged', 'merged'), ('in_progress', 'in progress'), ('closed', 'closed')], max_length=25, verbose_name='kind')),
                ('order', models.PositiveIntegerField(default=50, verbose_name='order')),
            ],
            options={
                'verbose_name': 'status',
                'verbose_name_plural': 'statuses',
                'ordering': ['order', 'id'],
            },
        ),
        migrations.CreateModel(
            name='TicketCount',
            fields=[
                ('slot', models.PositiveSmallIntegerField(primary_key=True, serialize=False)),
                ('count', models.BigIntegerField(default=0)),
            ],
            options={
                'verbose_name': 'number of tickets',
                'verbose_name_plural': 'numbers of tickets',
                'ordering': ['slot'],
            },
        ),
        migrations.CreateModel(
            name='Chat',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('client_name', models.CharField(max_length=200, verbose_name='client')),
                ('client_email', models.CharField(blank=True, max_length=320, verbose_name="client's e-mail")),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='started')),
                ('assigned_at', models.DateTimeField(null=True, verbose_name='assigned')),
                ('answered_at', models.DateTimeField(null=True, verbose_name='answered')),
                ('closed_at', models.DateTimeField(null=True, verbose_name='closed')),
                ('agent', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='chats', to='telephony.agent', verbose_name='agent')),
                ('queue', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='chats', to='telephony.queue', verbose_name='queue')),
            ],
            options={
                'verbose_name': 'chat',
                'verbose_name_plural': 'chats',
                'ordering': ['-created_at', '-id'],
                'indexes': [models.Index(fields=['-created_at', '-id'], name='chat_newest'), models.Index(fields=['agent', '-created_at', '-id'], name='chat_of_agent'), models.Index(fields=['queue', '-created_at', '-id'], name='chat_of_queue'), models.Index(condition=models.Q(('closed_at__isnull', False)), fields=['agent', 'closed_at'], name='chat_closed'), models.Index(condition=models.Q(('closed_at', None)), fields=['queue', 'created_at'], name='chat_open'), models.Index(django.contrib.postgres.indexes.OpClass(django.db.models.functions.text.Upper('client_email'), 'text_pattern_ops'), models.OrderBy(models.F('created_at'), descending=True), models.OrderBy(models.F('id'), descending=True), condition=models.Q(('client_email', ''), _negated=True), name='chat_address'), django.contrib.postgres.indexes.GinIndex(callcentre.core.search.Words('client_name'), gin_pending_list_limit=512, name='chat_words')],
            },
        ),
        migrations.CreateModel(
            name='Company',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='changed')),
                ('name', models.CharField(max_length=200, verbose_name='name')),
            ],
            options={
                'verbose_name': 'company',
                'verbose_name_plural': 'companies',
                'ordering': ['name', 'id'],
                'indexes': [models.Index(fields=['name', 'id'], name='company_names'), django.contrib.postgres.indexes.GinIndex(django.contrib.postgres.indexes.OpClass(callcentre.core.search.Name('name'), name='gin_trgm_ops'), name='company_plain_name')],
            },
        ),
        migrations.CreateModel(
            name='CustomerSettings',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('creates_unknown', models.BooleanField(help_text='The first mail from an unknown address and the first call from an unknown number create a customer. The surname is the name in the mail, else the address or the number.', verbose_name='create customers of unknown senders and callers')),
            ],
            options={
                'verbose_name': 'settings of customers',
                'verbose_name_plural': 'settings of customers',
                'ordering': ['id'],
                'constraints': [models.CheckConstraint(condition=models.Q(('pk', 1)), name='customersettings_is_one_row')],
            },
        ),
        migrations.CreateModel(
            name='CustomField',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('owner', models.CharField(choices=[('ticket', 'tickets'), ('customer', 'customers')], max_length=10, verbose_name='of')),
                ('name', models.CharField(max_length=100, verbose_name='name')),
                ('type', models.CharField(choices=[('text', 'text'), ('number', 'number'), ('date', 'date'), ('choice', 'choice')], default='text', max_length=10, verbose_name='type')),
                ('options', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=200), blank=True, default=list, help_text='Of a choice.', size=None, verbose_name='options')),
                ('is_active', models.BooleanField(default=True, verbose_name='active')),
                ('order', models.PositiveIntegerField(default=50, verbose_name='order')),
            ],
            options={
                'verbose_name': 'custom field',
                'verbose_name_plural': 'custom fields',
                'ordering': ['owner', 'order', 'id'],
                'constraints': [models.UniqueConstraint(fields=('owner', 'name'), name='customfield_name_is_unique', violation_error_message='Another field has this name.')],
            },
        ),
        migrations.CreateModel(
            name='CannedReply',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='changed')),
                ('name', models.CharField(max_length=100, unique=True, verbose_name='name')),
                ('body', models.TextField(help_text='HTML.', verbose_name='text')),
                ('queue', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='canned_replies', to='tickets.ticketqueue', verbose_name='ticket queue')),
            ],
            options={
                'verbose_name': 'canned reply',
                'verbose_name_plural': 'canned replies',
                'ordering': ['name', 'id'],
            },
        ),
        migrations.CreateModel(
            name='TicketQueueHours',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('weekday', models.PositiveSmallIntegerField(choices=[(1, 'Monday'), (2, 'Tuesday'), (3, 'Wednesday'), (4, 'Thursday'), (5, 'Friday'), (6, 'Saturday'), (7, 'Sunday')], verbose_name='day')),
                ('opens_at', models.TimeField(verbose_name='opens')),
                ('closes_at', models.TimeField(verbose_name='closes')),
                ('queue', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='opening_hours', to='tickets.ticketqueue', verbose_name='queue')),
            ],
            options={
                'verbose_name': 'opening hours',
                'verbose_name_plural': 'opening hours',
                'ordering': ['weekday', 'opens_at', 'id'],
                'abstract': False,
                'constraints': [models.CheckConstraint(condition=models.Q(('opens_at__lt', models.F('closes_at')), ('closes_at', '00:00'), _connector='OR'), name='ticketqueuehours_open_before_they_close', violation_error_message='It opens before it closes.'), callcentre.core.opening_hours.HoursApart(deferrable=django.db.models.constraints.Deferrable['DEFERRED'], expressions=[('queue', '='), ('weekday', '='), (callcentre.core.opening_hours._Seconds(), '&&')], name='ticketqueuehours_do_not_overlap')],
            },
        ),
        migrations.CreateModel(
            name='MailboxTest',
            fields=[
                ('queue', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='mailbox_test', serialize=False, to='tickets.ticketqueue', verbose_name='ticket queue')),
                ('asked_by', models.CharField(max_length=150, verbose_name='asked for by')),
                ('asked_at', models.DateTimeField(verbose_name='asked for')),
                ('started_at', models.DateTimeField(null=True, verbose_name='started')),
                ('finished_at', models.DateTimeField(null=True, verbose_name='finished')),
                ('mail_count', models.PositiveIntegerField(null=True, verbose_name='mails')),
                ('unseen_count', models.PositiveIntegerField(null=True, verbose_name='unread')),
                ('error', models.CharField(blank=True, max_length=500, verbose_name='error')),
            ],
            options={
                'verbose_name': 'test of a mailbox',
                'verbose_name_plural': 'tests of mailboxes',
                'ordering': ['queue_id'],
            },
        ),
        migrations.CreateModel(
            name='TicketSubstatus',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100, verbose_name='name')),
                ('order', models.PositiveIntegerField(default=50, verbose_name='order')),
                ('status', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='substatuses', to='tickets.ticketstatus', verbose_name='status')),
            ],
            options={
                'verbose_name': 'sub-status',
                'verbose_name_plural': 'sub-statuses',
                'ordering': ['order', 'id'],
                'constraints': [models.UniqueConstraint(fields=('status', 'name'), name='ticketsubstatus_name_is_unique')],
            },
        ),
        migrations.CreateModel(
            name='ChatMessage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('body', models.TextField(verbose_name='text')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='time')),
                ('agent', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='chat_messages', to='telephony.agent', verbose_name='agent')),
                ('chat', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='messages', to='tickets.chat', verbose_name='chat')),
            ],
            options={
                'verbose_name': 'chat message',
                'verbose_name_plural': 'chat messages',
                'ordering': ['id'],
                'indexes': [models.Index(fields=['chat', 'id'], name='chatmessage_of_chat'), models.Index(condition=models.Q(('agent__isnull', False)), fields=['agent', 'created_at', 'chat'], name='chatmessage_of_agent'), django.contrib.postgres.indexes.GinIndex(callcentre.core.search.Words('body'), gin_pending_list_limit=512, name='chatmessage_words')],
            },
        ),
        migrations.CreateModel(
            name='Customer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='changed')),
                ('name', models.CharField(blank=True, max_length=100, verbose_name='name')),
                ('surname', models.CharField(max_length=100, verbose_name='surname')),
                ('email', models.CharField(blank=True, max_length=254, verbose_name='e-mail')),
                ('identifier', models.CharField(blank=True, max_length=100, verbose_name='identifier')),
                ('custom_fields', models.JSONField(blank=True, default=dict, verbose_name='custom fields')),
                ('company', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='customers', to='tickets.company', verbose_name='company')),
                ('merged_into', models.ForeignKey(editable=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='merged', to='tickets.customer')),
                ('time_zone', models.CharField(blank=True, db_default='', default='', help_text='An IANA name, such as Europe/Warsaw. Empty: the zones of the phone number.', max_length=64, verbose_name='time zone')),
            ],
            options={
                'verbose_name': 'customer',
                'verbose_name_plural': 'customers',
                'ordering': ['-id'],
                'indexes': [models.Index(django.contrib.postgres.indexes.OpClass(django.db.models.functions.text.Upper('email'), 'text_pattern_ops'), condition=models.Q(('email', ''), _negated=True), name='customer_address'), models.Index(condition=models.Q(models.Q(('identifier', ''), _negated=True), ('merged_into__isnull', False)), fields=['identifier'], name='customer_merged_identifier'), models.Index(fields=['surname', 'name', 'id'], name='customer_names'), models.Index(fields=['-created_at', '-id'], name='customer_created'), django.contrib.postgres.indexes.GinIndex(django.contrib.postgres.indexes.OpClass(callcentre.core.search.Name('name', 'surname'), name='gin_trgm_ops'), name='customer_plain_name')],
                'constraints': [models.UniqueConstraint(condition=models.Q(models.Q(('identifier', ''), _negated=True), ('merged_into', None)), fields=('identifier',), name='customer_identifier_is_unique', violation_error_message='Another customer has this identifier.')],
            },
        ),
        migrations.CreateModel(
            name='Ticket',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('subject', models.CharField(max_length=500, verbose_name='subject')),
                ('source', models.CharField(choices=[('email', 'e-mail'), ('phone', 'phone'), ('sms', 'SMS'), ('chat', 'chat'), ('www', 'web form'), ('marketplace_message', 'marketplace: message'), ('marketplace_dispute', 'marketplace: dispute')], max_length=20, verbose_name='source')),
                ('sender', models.CharField(blank=True, max_length=320, verbose_name='from')),
                ('sender_name', models.CharField(blank=True, max_length=200, verbose_name="sender's name")),
                ('tags', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=100), blank=True, default=list, size=None, verbose_name='tags')),
                ('custom_fields', models.JSONField(blank=True, default=dict, verbose_name='custom fields')),
                ('connected_ids', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, default=list, editable=False, size=None)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='created')),
                ('updated_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='changed')),
                ('closed_at', models.DateTimeField(editable=False, null=True, verbose_name='closed')),
                ('first_agent_responded_at', models.DateTimeField(editable=False, null=True, verbose_name='first response')),
                ('response_due_at', models.DateTimeField(editable=False, null=True, verbose_name='response due')),
                ('resolution_due_at', models.DateTimeField(editable=False, null=True, verbose_name='resolution due')),
                ('agent', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='tickets', to='telephony.agent', verbose_name='agent')),
                ('closed_by', models.ForeignKey(db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='telephony.agent')),
                ('customer', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='tickets', to='tickets.customer', verbose_name='customer')),
                ('merged_into', models.ForeignKey(db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='merged', to='tickets.ticket')),
                ('category', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='tickets', to='tickets.ticketcategory', verbose_name='category')),
                ('queue', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='tickets', to='tickets.ticketqueue', verbose_name='ticket queue')),
                ('status', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='tickets', to='tickets.ticketstatus', verbose_name='status')),
                ('substatus', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='tickets', to='tickets.ticketsubstatus', verbose_name='sub-status')),
                ('awaiting_since', models.DateTimeField(editable=False, null=True)),
                ('targets_began_at', models.DateTimeField(editable=False, null=True)),
                ('waits', django.contrib.postgres.fields.ArrayField(base_field=models.DateTimeField(), blank=True, db_default=[], default=list, editable=False, size=None)),
            ],
            options={
                'verbose_name': 'ticket',
                'verbose_name_plural': 'tickets',
                'ordering': ['-updated_at', '-id'],
                'indexes': [models.Index(fields=['-updated_at', '-id'], name='ticket_updated'), models.Index(fields=['-created_at', '-id'], name='ticket_created'), models.Index(fields=['queue', '-updated_at', '-id'], name='ticket_of_queue'), models.Index(fields=['status', '-updated_at', '-id'], name='ticket_of_status'), models.Index(fields=['agent', '-updated_at', '-id'], name='ticket_of_agent'), models.Index(condition=models.Q(('closed_at', None)), fields=['agent', '-updated_at', '-id'], name='ticket_open_of_agent'), models.Index(fields=['customer', '-updated_at', '-id'], name='ticket_of_customer'), models.Index(condition=models.Q(('customer__isnull', False)), fields=['customer', '-created_at', '-id'], name='ticket_in_timeline'), models.Index(fields=['category', '-updated_at', '-id'], name='ticket_of_category'), models.Index(fields=['source', '-updated_at', '-id'], name='ticket_of_source'), models.Index(condition=models.Q(('merged_into__isnull', False)), fields=['merged_into'], name='ticket_merged_into'), models.Index(django.contrib.postgres.indexes.OpClass(django.db.models.functions.text.Upper('sender'), 'text_pattern_ops'), condition=models.Q(('sender', ''), _negated=True), name='ticket_address'), models.Index(condition=models.Q(('closed_by__isnull', False)), fields=['closed_by', 'closed_at'], name='ticket_closed_by'), models.Index(condition=models.Q(('closed_at__isnull', False)), fields=['queue', 'closed_at', 'created_at'], name='ticket_closed_in_queue'), models.Index(condition=models.Q(('targets_began_at__isnull', False)), fields=['queue', 'targets_began_at'], name='ticket_reopened_in_queue'), models.Index(condition=models.Q(models.Q(('first_agent_responded_at', None), ('awaiting_since__isnull', False), _connector='OR'), ('closed_at', None), ('response_due_at__isnull', False)), fields=['response_due_at'], name='ticket_response_owed'), models.Index(condition=models.Q(('closed_at', None), ('resolution_due_at__isnull', False)), fields=['resolution_due_at'], name='ticket_resolution_due'), django.contrib.postgres.indexes.GinIndex(callcentre.core.search.Words('subject'), gin_pending_list_limit=512, name='ticket_words'), django.contrib.postgres.indexes.GinIndex(condition=models.Q(('tags', []), _negated=True), fields=['tags'], name='ticket_tags'), django.contrib.postgres.indexes.GinIndex(fields=['custom_fields'], name='ticket_custom_fields', opclasses=['jsonb_path_ops'])],
                'constraints': [models.CheckConstraint(condition=models.Q(('source__in', ['email', 'phone', 'sms', 'chat', 'www', 'marketplace_message', 'marketplace_dispute'])), name='ticket_source_is_known')],
            },
        ),
        migrations.CreateModel(
            name='CustomerChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='time')),
                ('actor_kind', models.CharField(choices=[('api_user', 'API user'), ('user', 'user'), ('agent', 'agent'), ('import', 'import'), ('dialler', 'dialler'), ('system', 'system')], max_length=10, verbose_name='kind of actor')),
                ('actor_id', models.BigIntegerField(null=True)),
                ('actor_name', models.CharField(max_length=150, verbose_name='actor')),
                ('action', models.CharField(max_length=30, verbose_name='action')),
                ('changes', models.JSONField(default=dict, verbose_name='changes')),
                ('customer', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='history', to='tickets.customer', verbose_name='customer')),
                ('actor_address', models.GenericIPAddressField(null=True, verbose_name='address')),
            ],
            options={
                'verbose_name': 'change of a customer',
                'verbose_name_plural': 'changes of customers',
                'ordering': ['-id'],
                'indexes': [models.Index(fields=['-at'], name='customerchange_at')],
            },
        ),
        migrations.CreateModel(
            name='CustomerNote',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('author_name', models.CharField(max_length=150, verbose_name='author')),
                ('message', models.TextField(verbose_name='note')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='created')),
                ('agent', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='telephony.agent', verbose_name='agent')),
                ('customer', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='notes', to='tickets.customer', verbose_name='customer')),
            ],
            options={
                'verbose_name': 'note',
                'verbose_name_plural': 'notes',
                'ordering': ['-id'],
                'indexes': [models.Index(fields=['customer', '-created_at', '-id'], name='customernote_in_timeline')],
            },
        ),
        migrations.CreateModel(
            name='CustomerNumber',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('phone_number', models.CharField(max_length=100, verbose_name='phone number')),
                ('number', models.CharField(editable=False, max_length=64, verbose_name='normal form')),
                ('customer', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='numbers', to='tickets.customer')),
            ],
            options={
                'verbose_name': 'phone number',
                'verbose_name_plural': 'phone numbers',
                'ordering': ['id'],
                'indexes': [models.Index(fields=['number', 'customer'], name='customernumber_number'), models.Index(django.contrib.postgres.indexes.OpClass(django.db.models.functions.text.Reverse('number'), name='text_pattern_ops'), name='customernumber_ending')],
                'constraints': [models.UniqueConstraint(fields=('customer', 'number'), name='customernumber_is_unique')],
            },
        ),
        migrations.CreateModel(
            name='Message',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('type', models.CharField(choices=[('MAIL', 'from the customer'), ('REPLY', 'to the customer'), ('COMMENT', 'comment')], max_length=10, verbose_name='type')),
                ('author_name', models.CharField(blank=True, max_length=200, verbose_name='author')),
                ('author_address', models.CharField(blank=True, max_length=320, verbose_name="author's address")),
                ('body', models.TextField(blank=True, verbose_name='text')),
                ('quoted', models.TextField(blank=True, verbose_name='quoted text')),
                ('body_type', models.CharField(choices=[('HTML', 'HTML'), ('PLAIN', 'plain text')], default='HTML', max_length=5)),
                ('comment', models.TextField(blank=True, verbose_name='comment')),
                ('system_comment', models.TextField(blank=True, verbose_name='note of the service')),
                ('is_automatic', models.BooleanField(default=False, verbose_name='automatic')),
                ('attachments', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=64), blank=True, default=list, size=None)),
                ('ratings', django.contrib.postgres.fields.ArrayField(base_field=models.SmallIntegerField(validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(5)]), blank=True, default=list, size=None)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='time')),
                ('agent', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='ticket_messages', to='telephony.agent', verbose_name='agent')),
                ('ticket', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='messages', to='tickets.ticket', verbose_name='ticket')),
                ('reply_to', models.CharField(blank=True, db_default='', default='', max_length=320, verbose_name='answers to')),
                ('is_answer', models.BooleanField(db_default=False, default=False, verbose_name='answer')),
            ],
            options={
                'verbose_name': 'message',
                'verbose_name_plural': 'messages',
                'ordering': ['created_at', 'id'],
                'indexes': [models.Index(fields=['ticket', 'created_at', 'id'], name='message_of_ticket'), models.Index(condition=models.Q(('agent__isnull', False), ('type', 'REPLY')), fields=['agent', 'created_at'], name='message_replies'), django.contrib.postgres.indexes.GinIndex(callcentre.core.search.Words('body', 'comment'), gin_pending_list_limit=512, name='message_words'), models.Index(condition=models.Q(('ratings', []), _negated=True), fields=['ticket'], name='message_rated')],
            },
        ),
        migrations.CreateModel(
            name='TicketChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='time')),
                ('actor_kind', models.CharField(choices=[('api_user', 'API user'), ('user', 'user'), ('agent', 'agent'), ('import', 'import'), ('dialler', 'dialler'), ('system', 'system')], max_length=10, verbose_name='kind of actor')),
                ('actor_id', models.BigIntegerField(null=True)),
                ('actor_name', models.CharField(max_length=150, verbose_name='actor')),
                ('action', models.CharField(max_length=30, verbose_name='action')),
                ('changes', models.JSONField(default=dict, verbose_name='changes')),
                ('ticket', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='history', to='tickets.ticket', verbose_name='ticket')),
                ('actor_address', models.GenericIPAddressField(null=True, verbose_name='address')),
            ],
            options={
                'verbose_name': 'change of a ticket',
                'verbose_name_plural': 'changes of tickets',
                'ordering': ['-id'],
                'indexes': [models.Index(fields=['-at'], name='ticketchange_at'), models.Index(fields=['ticket', 'id'], name='ticketchange_ticket')],
            },
        ),
        migrations.CreateModel(
            name='Dispatch',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('queued', 'queued'), ('sent', 'sent'), ('written', 'written to a file, not sent'), ('failed', 'failed')], default='queued', max_length=10, verbose_name='state')),
                ('recipients', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=320), blank=True, default=list, size=None, verbose_name='to')),
                ('copies', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=320), blank=True, default=list, size=None, verbose_name='Cc')),
                ('header_id', models.CharField(blank=True, max_length=255)),
                ('attempt_count', models.PositiveSmallIntegerField(default=0, verbose_name='attempts')),
                ('next_attempt_at', models.DateTimeField(null=True, verbose_name='next attempt')),
                ('begun_at', models.DateTimeField(null=True)),
                ('sent_at', models.DateTimeField(null=True, verbose_name='sent')),
                ('is_unknown', models.BooleanField(default=False, verbose_name='outcome unknown')),
                ('error', models.CharField(blank=True, max_length=500, verbose_name='error')),
                ('bounced_at', models.DateTimeField(null=True, verbose_name='bounced')),
                ('message', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='dispatch', to='tickets.message', verbose_name='message')),
                ('queued_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='queued')),
                ('source', models.CharField(choices=[('email', 'e-mail'), ('phone', 'phone'), ('sms', 'SMS'), ('chat', 'chat'), ('www', 'web form'), ('marketplace_message', 'marketplace: message'), ('marketplace_dispute', 'marketplace: dispute')], default='email', max_length=20, verbose_name='source')),
                ('accepted', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=320), blank=True, default=list, editable=False, size=None)),
                ('refused', models.JSONField(blank=True, default=dict, editable=False)),
            ],
            options={
                'verbose_name': 'outgoing message',
                'verbose_name_plural': 'outgoing messages',
                'ordering': ['-id'],
                'indexes': [models.Index(condition=models.Q(('state', 'queued')), fields=['next_attempt_at'], name='dispatch_due'), models.Index(condition=models.Q(('state', 'failed')), fields=['-id'], name='dispatch_failed'), models.Index(condition=models.Q(('state', 'written')), fields=['-id'], name='dispatch_written'), models.Index(condition=models.Q(('bounced_at__isnull', False)), fields=['-id'], name='dispatch_bounced'), models.Index(condition=models.Q(('refused', {}), _negated=True), fields=['-id'], name='dispatch_refused'), models.Index(fields=['-queued_at', '-id'], name='dispatch_newest')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('header_id', ''), _negated=True), fields=('header_id',), name='dispatch_header_id_is_unique'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'queued'), _negated=True), ('next_attempt_at__isnull', False), _connector='OR'), name='dispatch_queued_is_due')],
            },
        ),
        migrations.CreateModel(
            name='Rating',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('value', models.PositiveSmallIntegerField(verbose_name='rating')),
                ('given_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='given')),
                ('message', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='rating', to='tickets.message', verbose_name='message')),
                ('changed_at', models.DateTimeField(null=True, verbose_name='changed')),
            ],
            options={
                'verbose_name': 'rating',
                'verbose_name_plural': 'ratings',
                'ordering': ['-id'],
                'indexes': [models.Index(fields=['value', '-id'], name='rating_of_value'), models.Index(fields=['-given_at', '-id'], name='rating_newest')],
                'constraints': [models.CheckConstraint(condition=models.Q(('value__range', (1, 5))), name='rating_is_1_to_5')],
            },
        ),
        migrations.CreateModel(
            name='ReceivedMail',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('sha256', models.CharField(max_length=64)),
                ('header_id', models.CharField(blank=True, max_length=255)),
                ('sender', models.CharField(blank=True, max_length=320, verbose_name='from')),
                ('subject', models.CharField(blank=True, max_length=500, verbose_name='subject')),
                ('path', models.CharField(blank=True, max_length=200)),
                ('size', models.BigIntegerField(verbose_name='size in bytes')),
                ('outcome', models.CharField(choices=[('received', 'received'), ('stored', 'became a message'), ('ignored', 'needs no message'), ('quarantined', 'in quarantine'), ('deleted', 'deleted')], default='received', max_length=12, verbose_name='outcome')),
                ('reason', models.CharField(blank=True, max_length=500, verbose_name='reason')),
                ('received_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='received')),
                ('message', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='received_mails', to='tickets.message', verbose_name='message')),
                ('queue', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='received_mails', to='tickets.ticketqueue', verbose_name='ticket queue')),
                ('recipients', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=320), blank=True, default=list, size=None)),
                ('attempt_count', models.PositiveSmallIntegerField(default=0, verbose_name='attempts')),
                ('decided_by', models.CharField(blank=True, max_length=150, verbose_name='decided by')),
                ('imap_uid', models.BigIntegerField(editable=False, null=True)),
                ('imap_validity', models.BigIntegerField(editable=False, null=True)),
                ('content_sha256', models.CharField(blank=True, db_default='', default='', editable=False, max_length=64)),
            ],
            options={
                'verbose_name': 'received mail',
                'verbose_name_plural': 'received mail',
                'ordering': ['-id'],
                'indexes': [models.Index(condition=models.Q(('header_id', ''), _negated=True), fields=['header_id'], name='receivedmail_header_id'), models.Index(condition=models.Q(('outcome__in', ['received', 'quarantined'])), fields=['-id'], name='receivedmail_open'), models.Index(fields=['sender', 'received_at'], name='receivedmail_address', opclasses=['varchar_pattern_ops', 'timestamptz_ops']), models.Index(condition=models.Q(('outcome', 'ignored')), fields=['-id'], name='receivedmail_ignored'), models.Index(fields=['queue', '-id'], name='receivedmail_of_queue'), models.Index(fields=['-received_at', '-id'], name='receivedmail_newest')],
                'constraints': [models.UniqueConstraint(fields=('sha256', 'queue'), name='receivedmail_is_unique', nulls_distinct=False)],
            },
        ),
        migrations.CreateModel(
            name='StoredFile',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('token', models.CharField(max_length=64, unique=True)),
                ('filename', models.CharField(max_length=255, verbose_name='name')),
                ('content_type', models.CharField(max_length=100, verbose_name='type')),
                ('size', models.BigIntegerField(verbose_name='size in bytes')),
                ('sha256', models.CharField(max_length=64)),
                ('path', models.CharField(max_length=200)),
                ('content_id', models.CharField(blank=True, max_length=255)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='uploaded')),
                ('api_user', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='callcentre.apiuser')),
                ('message', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='files', to='tickets.message', verbose_name='message')),
                ('user', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'file',
                'verbose_name_plural': 'files',
                'ordering': ['id'],
                'indexes': [models.Index(condition=models.Q(('message', None)), fields=['created_at'], name='storedfile_temporary'), models.Index(fields=['-created_at', '-id'], name='storedfile_created')],
            },
        ),
        ]),
        migrations.RunSQL(SQL),
    ]
