from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('callcentre', '0010_address_of_deletions'),
    ]

    operations = [
        migrations.CreateModel(
            name='FileStore',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('mark', models.UUIDField()),
            ],
            options={
                'default_permissions': (),
            },
        ),
    ]
