from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tickets", "0029_lists_by_day")]

    operations = [
        migrations.AddField(
            model_name="message",
            name="is_answer",
            field=models.BooleanField(db_default=False, default=False, verbose_name="answer"),
        ),
    ]
