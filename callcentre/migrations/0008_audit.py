"""The audit log, and the address behind a change of an API user. Triggers and view follow after `migrate`."""

import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('callcentre', '0007_roles'),
    ]

    operations = [
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
        migrations.AddField(
            model_name='apiuserchange',
            name='actor_address',
            field=models.GenericIPAddressField(null=True, verbose_name='address'),
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
    ]
