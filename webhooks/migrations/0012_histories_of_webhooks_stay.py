from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("webhooks", "0011_actions_by_function")]

    operations = [
        migrations.AlterField(
            "webhookchange",
            "webhook",
            models.ForeignKey(
                db_constraint=False,
                on_delete=models.deletion.DO_NOTHING,
                related_name="history",
                to="webhooks.webhook",
                verbose_name="webhook",
            ),
        ),
    ]
