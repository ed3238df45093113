import callcentre.core.encryption
import callcentre.signin.models.second_factor
import django.db.models.deletion
import django.db.models.functions.datetime
import django.utils.timezone
from django.conf import settings
from callcentre.core.schema_operations import Together
from django.db import migrations, models


class Migration(migrations.Migration):
    # What databases had recorded before 1.0.0, beside this name.
    replaces = [("signin", name) for name in (
        "0002_open_sessions"
    ).split()]

    initial = True

    dependencies = [
        ('callcentre', '__first__'),
    ]

    operations = [Together([
        migrations.CreateModel(
            name='PasswordReset',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('typed', models.CharField(max_length=254, verbose_name='login or e-mail address')),
                ('source', models.CharField(max_length=50, verbose_name='address')),
                ('site', models.CharField(max_length=300)),
                ('language', models.CharField(max_length=10)),
                ('attempt_count', models.PositiveSmallIntegerField(default=0, verbose_name='attempts')),
                ('next_attempt_at', models.DateTimeField(default=django.utils.timezone.now, null=True, verbose_name='next attempt')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created')),
            ],
            options={
                'verbose_name': 'request for a new password',
                'verbose_name_plural': 'requests for a new password',
                'ordering': ['-id'],
                'default_permissions': (),
                'indexes': [models.Index(condition=models.Q(('next_attempt_at__isnull', False)), fields=['next_attempt_at'], name='reset_due'), models.Index(fields=['created_at'], name='reset_created_at')],
            },
        ),
        migrations.CreateModel(
            name='SecondFactor',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('throttling_failure_timestamp', models.DateTimeField(blank=True, default=None, help_text='A timestamp of the last failed verification attempt. Null if last attempt succeeded.', null=True)),
                ('throttling_failure_count', models.PositiveIntegerField(default=0, help_text='Number of successive failed attempts.')),
                ('confirmed', models.BooleanField(default=False, verbose_name='confirmed')),
                ('key', callcentre.core.encryption.EncryptedTextField(default=callcentre.signin.models.second_factor.new_key, editable=False, verbose_name='key')),
                ('last_step', models.BigIntegerField(default=-1, editable=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='set up')),
                ('last_used_at', models.DateTimeField(editable=False, null=True, verbose_name='last used')),
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='second_factor', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'second factor',
                'verbose_name_plural': 'second factors',
                'ordering': ['id'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='UserSession',
            fields=[
                ('session_key', models.CharField(max_length=40, primary_key=True, serialize=False, verbose_name='session key')),
                ('session_data', models.TextField(verbose_name='session data')),
                ('expire_date', models.DateTimeField(db_index=True, verbose_name='expire date')),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='sessions', to=settings.AUTH_USER_MODEL, verbose_name='user')),
            ],
            options={
                'verbose_name': 'session',
                'verbose_name_plural': 'sessions',
                'ordering': ['-expire_date', 'session_key'],
                'abstract': False,
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='RecoveryCode',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.CharField(editable=False, max_length=64)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created')),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='recovery_codes', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'recovery code',
                'verbose_name_plural': 'recovery codes',
                'ordering': ['id'],
                'default_permissions': (),
                'constraints': [models.UniqueConstraint(fields=('user', 'digest'), name='recoverycode_is_unique')],
            },
        ),
    ])]
