"""Clean the HTML of canned replies, signatures and acknowledgements that were saved before HTML was cleaned."""

from typing import Any

from django.db import migrations

from tickets.html import OWN_TEXT, clean_or_text

COLUMNS = (("CannedReply", "body"), ("TicketQueue", "signature"), ("TicketQueue", "acknowledgement"))


def clean_texts(apps: Any, schema_editor: Any) -> None:
    for model, column in COLUMNS:
        rows = apps.get_model("tickets", model).objects.exclude(**{column: ""})
        for pk, text in rows.order_by("pk").values_list("pk", column).iterator(chunk_size=500):
            if (cleaned := clean_or_text(text, OWN_TEXT)) != text:
                # A text that a person changes meanwhile is cleaned when it is saved.
                rows.filter(pk=pk, **{column: text}).update(**{column: cleaned})


class Migration(migrations.Migration):
    dependencies = [("tickets", "0011_deleted_mail")]

    operations = [migrations.RunPython(clean_texts, migrations.RunPython.noop)]
