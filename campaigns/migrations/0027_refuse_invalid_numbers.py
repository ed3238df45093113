from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0026_fill_campaigns_of_calls")]

    operations = [
        migrations.AddField(
            "recordimport",
            "refuses_invalid",
            models.BooleanField(
                db_default=False, default=False, verbose_name="numbers that are not valid are refused"
            ),
        ),
    ]
