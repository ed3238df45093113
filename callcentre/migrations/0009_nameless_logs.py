from django.db import migrations

# Both logs are kept longer than the rows whose names and numbers they had.
NAMES = """
    UPDATE django_admin_log SET object_repr = '',
      change_message = regexp_replace(change_message, '"object": "([^"\\\\]|\\\\.)*"', '"object": "•••"', 'g')
    WHERE object_repr <> '';
    UPDATE callcentre_auditentry SET object_name = '', changes = '{}'
    WHERE model IN ('tickets.chat', 'campaigns.donotcall');
    UPDATE callcentre_auditentry SET object_name = ''
    WHERE model IN ('tickets.receivedmail', 'telephony.recording') AND action <> 'ask_deletion';
"""


class Migration(migrations.Migration):
    dependencies = [("callcentre", "0008_audit"), ("admin", "0003_logentry_add_action_flag_choices")]

    operations = [migrations.RunSQL(NAMES, migrations.RunSQL.noop)]
