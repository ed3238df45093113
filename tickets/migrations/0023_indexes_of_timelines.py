"""Indexes of timelines, and without the two that they replace. Writes go on meanwhile."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import F, Q
from django.db.models.functions import Upper

from callcentre.core.migration_steps import AddMissingIndex, RemovePresentIndex


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("tickets", "0022_customer_time_zone")]

    operations = [
        AddMissingIndex(
            "chat",
            models.Index(
                Upper("client_email"),
                F("created_at").desc(),
                F("id").desc(),
                condition=~Q(client_email=""),
                name="chat_in_timeline",
            ),
        ),
        RemovePresentIndex("chat", "chat_client_email"),
        AddMissingIndex(
            "customernote",
            models.Index(fields=["customer", "-created_at", "-id"], name="customernote_in_timeline"),
        ),
        migrations.AlterField(
            "customernote",
            "customer",
            models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="notes",
                to="tickets.customer",
                verbose_name="customer",
            ),
        ),
        AddMissingIndex(
            "message",
            models.Index(fields=["ticket"], condition=~Q(ratings=[]), name="message_rated"),
        ),
        AddMissingIndex(
            "ticket",
            models.Index(
                fields=["customer", "-created_at", "-id"],
                condition=Q(customer__isnull=False),
                name="ticket_in_timeline",
            ),
        ),
    ]
