from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("reports", "0003_due_work")]
    operations = [
        migrations.AddField("rollup", "consultations", models.IntegerField(null=True)),
        migrations.AddField("rollup", "consulting_seconds", models.IntegerField(null=True)),
    ]
