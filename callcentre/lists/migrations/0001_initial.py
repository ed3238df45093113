import callcentre.core.changes
import callcentre.core.exporting.jobs
import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from callcentre.core.schema_operations import Together
from django.db import migrations, models


class Migration(migrations.Migration):
    # What databases had recorded before 1.0.0, beside this name.
    replaces = [("lists", name) for name in (
        "0002_scope 0003_address_and_unchanged_rows 0004_search_limits"
    ).split()]

    initial = True

    dependencies = [
        ('callcentre', '__first__'),
    ]

    operations = [Together([
        migrations.CreateModel(
            name='ListAction',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('list_name', models.CharField(max_length=100, verbose_name='list')),
                ('list_title', models.CharField(max_length=200, verbose_name='list')),
                ('query', models.TextField(blank=True)),
                ('action', models.CharField(max_length=100)),
                ('action_title', models.CharField(max_length=200, verbose_name='action')),
                ('form', models.TextField(blank=True)),
                ('facts', models.JSONField(default=dict)),
                ('language', models.CharField(max_length=10)),
                ('state', models.CharField(choices=[('queued', 'queued'), ('running', 'running'), ('finished', 'finished'), ('cancelled', 'cancelled'), ('failed', 'failed')], default='queued', max_length=10, verbose_name='state')),
                ('is_cancelled', models.BooleanField(default=False)),
                ('ids', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), editable=False, null=True, size=None)),
                ('total_count', models.PositiveIntegerField(null=True, verbose_name='rows that matched')),
                ('place', models.PositiveIntegerField(default=0)),
                ('done_count', models.PositiveIntegerField(default=0, verbose_name='changed rows')),
                ('refused_count', models.PositiveIntegerField(default=0, verbose_name='refused')),
                ('skipped_count', models.PositiveIntegerField(default=0, verbose_name='no longer matched')),
                ('refusals', models.JSONField(default=dict)),
                ('message', models.TextField(blank=True, verbose_name='message')),
                ('attempt_count', models.PositiveSmallIntegerField(db_column='failure_count', default=0)),
                ('request_id', models.CharField(blank=True, editable=False, max_length=64)),
                ('actor_kind', models.CharField(editable=False, max_length=10)),
                ('actor_id', models.BigIntegerField(editable=False, null=True)),
                ('actor_name', models.CharField(editable=False, max_length=150, verbose_name='asked for by')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='asked for')),
                ('started_at', models.DateTimeField(editable=False, null=True, verbose_name='started')),
                ('finished_at', models.DateTimeField(editable=False, null=True, verbose_name='finished')),
                ('scope_agent_groups', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, help_text='Empty: all.', null=True, size=None, verbose_name='agent groups')),
                ('scope_call_queues', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, help_text='Empty: all.', null=True, size=None, verbose_name='call queues')),
                ('scope_outbounds', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, help_text='Empty: all.', null=True, size=None, verbose_name='campaigns')),
                ('scope_ticket_queues', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, help_text='Empty: all.', null=True, size=None, verbose_name='ticket queues')),
                ('actor_address', models.GenericIPAddressField(editable=False, null=True)),
                ('unchanged_count', models.PositiveIntegerField(db_default=0, default=0, verbose_name='needed no change')),
                ('search_limit', models.PositiveIntegerField(editable=False, null=True)),
            ],
            options={
                'verbose_name': 'action on a list',
                'verbose_name_plural': 'actions on lists',
                'ordering': ['-id'],
                'permissions': [('see_all_list_jobs', 'Can see and cancel exports and actions on lists of all people')],
                'default_permissions': ('view',),
                'indexes': [models.Index(condition=models.Q(('state__in', ['queued', 'running'])), fields=['id'], name='listaction_waiting'), models.Index(fields=['actor_id', '-id'], name='listaction_of_user')],
            },
        ),
        migrations.CreateModel(
            name='ListExport',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('format', models.CharField(choices=[('csv', 'CSV'), ('xlsx', 'XLSX')], default='csv', max_length=4, verbose_name='format')),
                ('language', models.CharField(choices=callcentre.core.changes.languages, default='en', max_length=10, verbose_name='language')),
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
                ('list_name', models.CharField(max_length=100, verbose_name='list')),
                ('list_title', models.CharField(max_length=200, verbose_name='list')),
                ('query', models.TextField(blank=True)),
                ('scope_agent_groups', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, help_text='Empty: all.', null=True, size=None, verbose_name='agent groups')),
                ('scope_call_queues', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, help_text='Empty: all.', null=True, size=None, verbose_name='call queues')),
                ('scope_outbounds', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, help_text='Empty: all.', null=True, size=None, verbose_name='campaigns')),
                ('scope_ticket_queues', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, help_text='Empty: all.', null=True, size=None, verbose_name='ticket queues')),
                ('search_limit', models.PositiveIntegerField(editable=False, null=True)),
            ],
            options={
                'verbose_name': 'export of a list',
                'verbose_name_plural': 'exports of lists',
                'ordering': ['-id'],
                'default_permissions': ('add', 'view'),
                'indexes': [models.Index(condition=models.Q(('state__in', ['queued', 'running'])), fields=['id'], name='listexport_waiting'), models.Index(fields=['actor_id', '-id'], name='listexport_of_user')],
            },
        ),
        migrations.CreateModel(
            name='SavedView',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('list_name', models.CharField(max_length=100)),
                ('name', models.CharField(max_length=100, verbose_name='name')),
                ('query', models.TextField(blank=True)),
                ('is_shared', models.BooleanField(default=False, verbose_name='shared')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'saved view of a list',
                'verbose_name_plural': 'saved views of lists',
                'ordering': ['name', 'id'],
                'permissions': [('share_savedview', 'Can share saved views of lists')],
                'default_permissions': (),
                'constraints': [models.UniqueConstraint(fields=('user', 'list_name', 'name'), name='savedview_name_is_unique', violation_error_message='You have a view of this name.')],
            },
        ),
        migrations.CreateModel(
            name='DefaultView',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('list_name', models.CharField(max_length=100)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('view', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='lists.savedview')),
            ],
            options={
                'verbose_name': 'view with which a list opens',
                'verbose_name_plural': 'views with which lists open',
                'ordering': ['id'],
                'default_permissions': (),
                'constraints': [models.UniqueConstraint(fields=('user', 'list_name'), name='defaultview_of_a_list_is_one')],
            },
        ),
    ])]
