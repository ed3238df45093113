from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("callcentre", "0010_address_of_deletions")]

    operations = [
        migrations.AlterField(
            "apiuserchange",
            "api_user",
            models.ForeignKey(
                db_constraint=False,
                on_delete=models.deletion.DO_NOTHING,
                related_name="changes",
                to="callcentre.apiuser",
                verbose_name="API user",
            ),
        ),
    ]
