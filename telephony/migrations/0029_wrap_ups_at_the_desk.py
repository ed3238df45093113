import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("telephony", "0028_campaigns_of_calls_by_id")]

    operations = [
        migrations.AddField(
            model_name="queue",
            name="topic_minutes",
            field=models.PositiveSmallIntegerField(
                db_default=0,
                default=0,
                help_text="At the desk the wrap-up lasts until the call has a topic, at most so long; 0: no topic is required.",
                validators=[django.core.validators.MaxValueValidator(60)],
                verbose_name="wait for the topic in min",
            ),
        ),
        migrations.AddField(
            model_name="agentstate",
            name="awaits_topic",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name="agentstate",
            name="is_extended",
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
