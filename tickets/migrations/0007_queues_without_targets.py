from django.db import migrations


class Migration(migrations.Migration):
    """The release before reads the columns and the table: the next release drops them."""

    dependencies = [
        ('tickets', '0006_levels_of_queues'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveField(model_name='ticketqueue', name='first_response_minutes'),
                migrations.RemoveField(model_name='ticketqueue', name='resolution_minutes'),
                migrations.DeleteModel(name='TicketQueueHours'),
            ]
        ),
    ]
