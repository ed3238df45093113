import django.contrib.postgres.fields
from django.db import migrations, models

INTEGERS = (
    "offered answered not_answered transferred talk_seconds wait_seconds calls calls_seconds calls_talked chats_closed"
    " tickets_closed replies login_seconds free_count free_seconds pause_count pause_seconds wrap_up_seconds"
).split()
LISTS = {
    "call_lengths": models.IntegerField(),
    "call_counts": models.IntegerField(),
    "call_seconds": models.IntegerField(),
    "answer_delays": models.IntegerField(),
    "answer_counts": models.IntegerField(),
    "chat_ids": models.UUIDField(),
    "ticket_ids": models.BigIntegerField(),
}
SUMS = {"verbose_name": "sum of the report", "verbose_name_plural": "sums of the report"}
PROGRESS = {"verbose_name": "progress of the sums", "verbose_name_plural": "progress of the sums"}


class Migration(migrations.Migration):
    dependencies = [("reports", "0007_three_levels")]

    operations = [
        # The tables stay for processes of the release before this one, which may run during an update.
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.DeleteModel("Rollup"), migrations.DeleteModel("StaleRollup")]
        ),
        migrations.CreateModel(
            "Rollup",
            [
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "agent_id", "level", "queue_id", "started_at",
                        blank=True, editable=False, primary_key=True, serialize=False,
                    ),
                ),
                ("started_at", models.DateTimeField(verbose_name="from")),
                ("first_login_at", models.DateTimeField(null=True)),
                ("last_logout_at", models.DateTimeField(null=True)),
                ("agent_id", models.IntegerField(verbose_name="agent")),
                ("queue_id", models.IntegerField(verbose_name="queue")),
                *((name, models.IntegerField(null=True)) for name in INTEGERS),
                ("level", models.PositiveSmallIntegerField(verbose_name="period")),
                ("pauses", models.JSONField(null=True)),
                *(
                    (name, django.contrib.postgres.fields.ArrayField(base_field=base, null=True, size=None))
                    for name, base in LISTS.items()
                ),
            ],
            {**SUMS, "db_table": "reports_sums", "ordering": ["pk"]},
        ),
        migrations.CreateModel(
            "RollupProgress",
            [
                (
                    "level",
                    models.PositiveSmallIntegerField(
                        primary_key=True, serialize=False, verbose_name="period"
                    ),
                ),
                ("until", models.DateTimeField(verbose_name="to")),
            ],
            {**PROGRESS, "ordering": ["level"]},
        ),
    ]
