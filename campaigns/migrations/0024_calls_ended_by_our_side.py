from django.db import migrations, models

OUTCOMES = [
    ("answered", "answered"),
    ("busy", "busy"),
    ("no_answer", "no answer"),
    ("failed", "failed"),
    ("dropped", "dropped"),
    ("machine", "answering machine"),
    ("not_dialled", "not dialled"),
    ("cancelled", "ended by our side"),
]


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0023_failures_of_the_trunk")]

    operations = [
        migrations.AlterField(
            model,
            "outcome",
            models.CharField(blank=True, choices=OUTCOMES, max_length=12, verbose_name="outcome"),
        )
        for model in ("attempt", "retryrule")
    ]
