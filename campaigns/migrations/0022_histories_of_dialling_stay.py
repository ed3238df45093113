from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0021_recycled_records")]

    operations = [
        migrations.AlterField(
            "diallingswitch",
            "campaign",
            models.ForeignKey(
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=models.deletion.DO_NOTHING,
                related_name="dialling_switches",
                to="campaigns.campaign",
                verbose_name="campaign",
            ),
        ),
    ]
