from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0024_calls_ended_by_our_side")]

    operations = [
        migrations.AddField(
            "recordimport",
            "refuses_invalid",
            models.BooleanField(
                db_default=False, default=False, verbose_name="numbers that are not valid are refused"
            ),
        ),
    ]
