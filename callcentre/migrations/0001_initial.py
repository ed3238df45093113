import callcentre.models
import django.contrib.auth.models
import django.contrib.auth.validators
import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
import django.utils.timezone
from django.contrib.postgres.operations import TrigramExtension, UnaccentExtension
from callcentre.core.schema_operations import Together
from django.db import migrations, models
from pathlib import Path

from callcentre.core.roles import NAMES, deliver

SQL = Path(__file__).with_suffix(".sql").read_text()


def deliver_roles(apps, schema_editor):
    deliver(apps, NAMES)


class Migration(migrations.Migration):
    # What databases had recorded before 1.0.0, beside this name.
    replaces = [("callcentre", name) for name in (
        "0002_lockout 0003_deletions 0004_search_extensions 0005_search_functions 0006_scope 0007_roles "
        "0008_audit 0009_nameless_logs 0010_address_of_deletions 0011_histories_of_api_users_stay "
        "0012_file_store 0013_heartbeat"
    ).split()]

    initial = True

    dependencies = [
        ('contenttypes', '0002_remove_content_type_name'),
        ('auth', '0012_alter_user_first_name_max_length'),
    ]

    operations = [
        TrigramExtension(),
        UnaccentExtension(),
        migrations.RunSQL(SQL),
        Together([
        migrations.CreateModel(
            name='AuditLog',
            fields=[
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='time')),
                ('actor_kind', models.CharField(choices=[('api_user', 'API user'), ('user', 'user'), ('agent', 'agent'), ('import', 'import'), ('dialler', 'dialler'), ('system', 'system')], max_length=10, verbose_name='kind of actor')),
                ('actor_id', models.BigIntegerField(null=True)),
                ('actor_name', models.CharField(max_length=150, verbose_name='actor')),
                ('actor_address', models.GenericIPAddressField(null=True, verbose_name='address')),
                ('action', models.CharField(max_length=30, verbose_name='action')),
                ('changes', models.JSONField(default=dict, verbose_name='changes')),
                ('id', models.CharField(max_length=80, primary_key=True, serialize=False)),
                ('source', models.CharField(max_length=60)),
                ('row_id', models.BigIntegerField()),
                ('model', models.CharField(max_length=60, verbose_name='kind')),
                ('object_id', models.CharField(max_length=64, verbose_name='id')),
                ('object_name', models.CharField(max_length=200, verbose_name='name')),
                ('part', models.CharField(max_length=60, verbose_name='part')),
            ],
            options={
                'verbose_name': 'entry of the audit log',
                'verbose_name_plural': 'audit log',
                'db_table': 'callcentre_auditlog',
                'ordering': ['-at', '-id'],
                'managed': False,
                'default_permissions': ('view',),
            },
        ),
        migrations.CreateModel(
            name='FileStore',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('mark', models.UUIDField()),
            ],
            options={
                'ordering': ['id'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='ApiUser',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='changed')),
                ('login', models.CharField(max_length=150, unique=True, verbose_name='login')),
                ('description', models.CharField(blank=True, max_length=200, verbose_name='description')),
                ('is_active', models.BooleanField(default=True, verbose_name='active')),
                ('rights', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('*', '*'), ('*:read', '*:read'), ('*:write', '*:write'), ('campaigns:read', 'campaigns:read'), ('campaigns:write', 'campaigns:write'), ('agents:read', 'agents:read'), ('agents:write', 'agents:write'), ('connections:read', 'connections:read'), ('connections:write', 'connections:write'), ('tickets:read', 'tickets:read'), ('tickets:write', 'tickets:write'), ('customers:read', 'customers:read'), ('customers:write', 'customers:write'), ('knowledge_base:read', 'knowledge_base:read'), ('knowledge_base:write', 'knowledge_base:write'), ('webhooks:read', 'webhooks:read'), ('webhooks:write', 'webhooks:write'), ('reports:read', 'reports:read'), ('reports:write', 'reports:write'), ('system:read', 'system:read'), ('system:write', 'system:write')], max_length=30), blank=True, default=list, help_text='Area and access; * stands for all.', size=None, verbose_name='rights')),
                ('allowed_networks', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=50), blank=True, default=list, help_text='Networks (CIDR) it may call from, separated by commas; empty for any.', size=None, validators=[callcentre.models.validate_networks], verbose_name='allowed networks')),
                ('expires_at', models.DateTimeField(blank=True, null=True, verbose_name='expires')),
                ('rate_limit', models.PositiveIntegerField(blank=True, help_text="Empty for the service's own limit; 0 for none.", null=True, verbose_name='requests per minute')),
                ('last_used_at', models.DateTimeField(editable=False, null=True, verbose_name='last used')),
                ('secret_hash', models.CharField(blank=True, editable=False, max_length=64)),
                ('previous_secret_hash', models.CharField(blank=True, editable=False, max_length=64)),
                ('previous_secret_expires_at', models.DateTimeField(editable=False, null=True, verbose_name='previous secret works until')),
                ('password', models.CharField(blank=True, editable=False, max_length=128)),
            ],
            options={
                'verbose_name': 'API user',
                'verbose_name_plural': 'API users',
                'ordering': ['login'],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('login__contains', ':'), _negated=True), models.Q(('login', ''), _negated=True)), name='apiuser_login_is_basic', violation_error_message='A login has no colon.')],
            },
        ),
        migrations.CreateModel(
            name='AuditEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='time')),
                ('actor_kind', models.CharField(choices=[('api_user', 'API user'), ('user', 'user'), ('agent', 'agent'), ('import', 'import'), ('dialler', 'dialler'), ('system', 'system')], max_length=10, verbose_name='kind of actor')),
                ('actor_id', models.BigIntegerField(null=True)),
                ('actor_name', models.CharField(max_length=150, verbose_name='actor')),
                ('actor_address', models.GenericIPAddressField(null=True, verbose_name='address')),
                ('action', models.CharField(max_length=30, verbose_name='action')),
                ('changes', models.JSONField(default=dict, verbose_name='changes')),
                ('model', models.CharField(max_length=60)),
                ('object_id', models.CharField(blank=True, max_length=64)),
                ('object_name', models.CharField(blank=True, max_length=200)),
                ('part', models.CharField(blank=True, max_length=60)),
            ],
            options={
                'ordering': ['-id'],
                'default_permissions': (),
                'indexes': [models.Index(fields=['-at'], name='auditentry_at'), models.Index(fields=['model', 'object_id', '-at'], name='auditentry_object')],
            },
        ),
        migrations.CreateModel(
            name='Deletion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(max_length=20, verbose_name='kind')),
                ('object_id', models.CharField(max_length=36, verbose_name='id')),
                ('reason', models.CharField(max_length=500, verbose_name='reason')),
                ('actor_kind', models.CharField(max_length=10)),
                ('actor_id', models.BigIntegerField(null=True)),
                ('actor_name', models.CharField(max_length=150, verbose_name='deleted by')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='asked for')),
                ('finished_at', models.DateTimeField(null=True, verbose_name='finished')),
                ('state', models.CharField(choices=[('queued', 'queued'), ('running', 'running'), ('finished', 'finished'), ('failed', 'failed')], default='queued', max_length=10, verbose_name='state')),
                ('deleted', models.JSONField(default=dict, verbose_name='deleted')),
                ('emptied', models.JSONField(default=dict, verbose_name='emptied')),
                ('notes', models.JSONField(default=dict)),
                ('next_attempt_at', models.DateTimeField(db_column='due_at', null=True)),
                ('claim_number', models.PositiveIntegerField(default=0)),
                ('attempt_count', models.PositiveSmallIntegerField(db_column='failure_count', default=0)),
                ('error', models.CharField(blank=True, max_length=300, verbose_name='error')),
                ('actor_address', models.GenericIPAddressField(null=True)),
            ],
            options={
                'verbose_name': 'deletion',
                'verbose_name_plural': 'deletions',
                'ordering': ['-id'],
                'permissions': [('delete_personal_data', 'Can delete customers, tickets, chats, mail, files and recordings')],
                'default_permissions': ('view',),
                'indexes': [models.Index(condition=models.Q(('state__in', ['queued', 'running'])), fields=['next_attempt_at'], name='deletion_due'), models.Index(fields=['kind', 'object_id'], name='deletion_object')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('state__in', ['queued', 'running'])), fields=('kind', 'object_id'), name='deletion_is_asked_once', violation_error_message='It is being deleted already.'), models.CheckConstraint(condition=models.Q(models.Q(('state__in', ['queued', 'running']), _negated=True), ('next_attempt_at__isnull', False), _connector='OR'), name='deletion_waiting_is_due')],
            },
        ),
        migrations.CreateModel(
            name='FileRemoval',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('path', models.CharField(max_length=200)),
                ('due_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('failure_count', models.PositiveSmallIntegerField(default=0)),
            ],
            options={
                'verbose_name': 'file to be removed',
                'verbose_name_plural': 'files to be removed',
                'ordering': ['id'],
                'indexes': [models.Index(fields=['due_at'], name='fileremoval_due')],
            },
        ),
        migrations.CreateModel(
            name='Heartbeat',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('process', models.CharField(max_length=40)),
                ('name', models.CharField(max_length=300)),
                ('beat_at', models.DateTimeField()),
            ],
            options={
                'ordering': ['id'],
                'default_permissions': (),
                'constraints': [models.UniqueConstraint(fields=('process', 'name'), name='heartbeat_is_unique')],
            },
        ),
        migrations.CreateModel(
            name='Lockout',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('realm', models.CharField(choices=[('api', 'API'), ('admin', 'admin')], max_length=10, verbose_name='door')),
                ('source', models.CharField(max_length=50, verbose_name='address')),
                ('login', models.CharField(blank=True, max_length=255, verbose_name='login')),
                ('until', models.DateTimeField(verbose_name='until')),
            ],
            options={
                'verbose_name': 'lockout',
                'verbose_name_plural': 'lockouts',
                'ordering': ['-until', '-id'],
                'constraints': [models.UniqueConstraint(fields=('source', 'realm', 'login'), name='lockout_is_unique')],
            },
        ),
        migrations.CreateModel(
            name='User',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('password', models.CharField(max_length=128, verbose_name='password')),
                ('last_login', models.DateTimeField(blank=True, null=True, verbose_name='last login')),
                ('is_superuser', models.BooleanField(default=False, help_text='Designates that this user has all permissions without explicitly assigning them.', verbose_name='superuser status')),
                ('username', models.CharField(error_messages={'unique': 'A user with that username already exists.'}, help_text='Required. 150 characters or fewer. Letters, digits and @/./+/-/_ only.', max_length=150, unique=True, validators=[django.contrib.auth.validators.UnicodeUsernameValidator()], verbose_name='username')),
                ('first_name', models.CharField(blank=True, max_length=150, verbose_name='first name')),
                ('last_name', models.CharField(blank=True, max_length=150, verbose_name='last name')),
                ('email', models.EmailField(blank=True, max_length=254, verbose_name='email address')),
                ('is_staff', models.BooleanField(default=False, help_text='Designates whether the user can log into this admin site.', verbose_name='staff status')),
                ('is_active', models.BooleanField(default=True, help_text='Designates whether this user should be treated as active. Unselect this instead of deleting accounts.', verbose_name='active')),
                ('date_joined', models.DateTimeField(default=django.utils.timezone.now, verbose_name='date joined')),
                ('scope_agent_groups', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, help_text='Empty: all.', null=True, size=None, verbose_name='agent groups')),
                ('scope_call_queues', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, help_text='Empty: all.', null=True, size=None, verbose_name='call queues')),
                ('scope_outbounds', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, help_text='Empty: all.', null=True, size=None, verbose_name='campaigns')),
                ('scope_ticket_queues', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, help_text='Empty: all.', null=True, size=None, verbose_name='ticket queues')),
                ('groups', models.ManyToManyField(blank=True, help_text='The groups this user belongs to. A user will get all permissions granted to each of their groups.', related_name='user_set', related_query_name='user', to='auth.group', verbose_name='groups')),
                ('user_permissions', models.ManyToManyField(blank=True, help_text='Specific permissions for this user.', related_name='user_set', related_query_name='user', to='auth.permission', verbose_name='user permissions')),
            ],
            options={
                'verbose_name': 'back-office user',
                'verbose_name_plural': 'back-office users',
                'constraints': [models.CheckConstraint(condition=models.Q(('is_superuser', False), models.Q(('scope_agent_groups', None), ('scope_call_queues', None), ('scope_outbounds', None), ('scope_ticket_queues', None)), _connector='OR'), name='user_superuser_has_no_scope', violation_error_message='A superuser sees all rows: leave the scope empty.')],
            },
            managers=[
                ('objects', django.contrib.auth.models.UserManager()),
            ],
        ),
        migrations.CreateModel(
            name='ApiUserChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='time')),
                ('actor_kind', models.CharField(choices=[('api_user', 'API user'), ('user', 'user'), ('agent', 'agent'), ('import', 'import'), ('dialler', 'dialler'), ('system', 'system')], max_length=10, verbose_name='kind of actor')),
                ('actor_id', models.BigIntegerField(null=True)),
                ('actor_name', models.CharField(max_length=150, verbose_name='actor')),
                ('action', models.CharField(max_length=30, verbose_name='action')),
                ('changes', models.JSONField(default=dict, verbose_name='changes')),
                ('api_user', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='changes', to='callcentre.apiuser', verbose_name='API user')),
                ('actor_address', models.GenericIPAddressField(null=True, verbose_name='address')),
            ],
            options={
                'verbose_name': 'change of an API user',
                'verbose_name_plural': 'changes of API users',
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='IdempotencyRecord',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('fingerprint', models.CharField(max_length=64)),
                ('body_hash', models.CharField(max_length=64)),
                ('status', models.PositiveSmallIntegerField(null=True)),
                ('answer', models.BinaryField(default=b'')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('api_user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='callcentre.apiuser')),
            ],
            options={
                'ordering': ['-id'],
                'indexes': [models.Index(fields=['created_at'], name='idempotencyrecord_created_at')],
                'constraints': [models.UniqueConstraint(fields=('api_user', 'fingerprint'), name='idempotencyrecord_is_unique')],
            },
        ),
        ]),
        migrations.RunPython(deliver_roles, migrations.RunPython.noop),
    ]
