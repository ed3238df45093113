from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('callcentre', '0011_histories_of_api_users_stay'),
    ]

    operations = [
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
    ]
