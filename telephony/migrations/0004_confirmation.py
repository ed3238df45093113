from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('telephony', '0003_voices'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='prompt',
            name='prompt_has_one_owner',
        ),
        migrations.AlterField(
            model_name='callerstep',
            name='kind',
            field=models.CharField(choices=[('queue', 'waits in a queue'), ('closed', 'hears that the queue is closed'), ('voicemail', 'is asked for a message'), ('callback', 'hears that we call back'), ('recording', 'leaves a message'), ('menu', 'in a menu')], max_length=10),
        ),
        migrations.AlterField(
            model_name='prompt',
            name='kind',
            field=models.CharField(choices=[('greeting', 'greeting'), ('place', 'place among the callers'), ('wait', 'estimated wait in minutes'), ('closed', 'the queue is closed or full'), ('voicemail', 'leave a message'), ('callback', 'the caller is called back'), ('choices', 'choices of the menu'), ('wrong', 'no such choice'), ('information', 'information')], max_length=12, verbose_name='kind'),
        ),
        migrations.AddConstraint(
            model_name='prompt',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('kind__in', ['greeting', 'place', 'wait', 'closed', 'voicemail', 'callback']), ('menu__isnull', True), ('queue__isnull', False)), models.Q(('kind__in', ['choices', 'wrong', 'information']), ('menu__isnull', False), ('queue__isnull', True)), _connector='OR'), name='prompt_has_one_owner'),
        ),
    ]
