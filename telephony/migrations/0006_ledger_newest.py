from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('telephony', '0005_switch_commands'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='agentsession',
            index=models.Index(fields=['-started_at', '-id'], name='agentsession_newest'),
        ),
        migrations.AddIndex(
            model_name='agentstate',
            index=models.Index(fields=['-started_at', '-id'], name='agentstate_newest'),
        ),
    ]
