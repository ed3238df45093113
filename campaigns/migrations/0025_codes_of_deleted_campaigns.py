from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0024_calls_ended_by_our_side")]

    operations = [
        migrations.CreateModel(
            name="FormerCode",
            fields=[("code", models.CharField(max_length=5, primary_key=True, serialize=False))],
            options={
                "verbose_name": "id of a deleted campaign",
                "verbose_name_plural": "ids of deleted campaigns",
                "ordering": ["code"],
            },
        ),
    ]
