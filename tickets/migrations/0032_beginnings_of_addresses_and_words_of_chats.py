"""Indexes of the beginnings of addresses, in the place of those of whole ones, and of the words of chats.

Writes go on meanwhile.
"""

from django.contrib.postgres.indexes import GinIndex, OpClass
from django.db import migrations, models
from django.db.models import F, Q
from django.db.models.functions import Upper

from callcentre.core.migration_steps import AddMissingIndex, RemovePresentIndex
from callcentre.core.search import Words

class Migration(migrations.Migration):
    atomic = False
    dependencies = [("tickets", "0031_answered_tickets")]

    operations = [
        AddMissingIndex(
            "customer",
            models.Index(OpClass(Upper("email"), "text_pattern_ops"), condition=~Q(email=""), name="customer_address"),
        ),
        RemovePresentIndex("customer", "customer_email"),
        AddMissingIndex(
            "ticket",
            models.Index(OpClass(Upper("sender"), "text_pattern_ops"), condition=~Q(sender=""), name="ticket_address"),
        ),
        RemovePresentIndex("ticket", "ticket_sender"),
        AddMissingIndex(
            "chat",
            models.Index(
                OpClass(Upper("client_email"), "text_pattern_ops"),
                F("created_at").desc(),
                F("id").desc(),
                condition=~Q(client_email=""),
                name="chat_address",
            ),
        ),
        RemovePresentIndex("chat", "chat_in_timeline"),
        AddMissingIndex(
            "receivedmail",
            models.Index(
                fields=["sender", "received_at"],
                opclasses=["varchar_pattern_ops", "timestamptz_ops"],
                name="receivedmail_address",
            ),
        ),
        RemovePresentIndex("receivedmail", "receivedmail_sender"),
        AddMissingIndex("chat", GinIndex(Words("client_name"), name="chat_words", gin_pending_list_limit=512)),
        AddMissingIndex("chatmessage", GinIndex(Words("body"), name="chatmessage_words", gin_pending_list_limit=512)),
    ]
