from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("callcentre", "0012_file_store")]

    operations = [
        migrations.CreateModel(
            name="Heartbeat",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("process", models.CharField(max_length=40)),
                ("name", models.CharField(max_length=300)),
                ("beat_at", models.DateTimeField()),
            ],
            options={
                "ordering": ["id"],
                "default_permissions": (),
                "constraints": [models.UniqueConstraint(fields=("process", "name"), name="heartbeat_is_unique")],
            },
        ),
    ]
