from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("telephony", "0019_calls_are_named_calls")]

    operations = [
        migrations.AlterField(
            model_name="leg",
            name="state",
            field=models.CharField(
                choices=[
                    ("asked", "asked for"),
                    ("ringing", "ringing"),
                    ("up", "up"),
                    ("refused", "refused"),
                    ("ended", "ended"),
                ],
                default="asked",
                max_length=10,
                verbose_name="state",
            ),
        )
    ]
