from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tickets", "0014_customer_settings_row")]

    operations = [
        migrations.AddField(
            model_name="message",
            name="reply_to",
            field=models.CharField(blank=True, db_default="", default="", max_length=320, verbose_name="answers to"),
        ),
        migrations.AddField(
            model_name="receivedmail",
            name="content_sha256",
            field=models.CharField(blank=True, db_default="", default="", editable=False, max_length=64),
        ),
    ]
