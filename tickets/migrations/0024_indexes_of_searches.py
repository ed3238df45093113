"""Indexes of searches, and without the two that they replace. Writes go on meanwhile."""

from django.contrib.postgres.indexes import GinIndex, OpClass
from django.db import migrations, models
from django.db.models.functions import Reverse

from callcentre.core.migration_steps import AddMissingIndex, RemovePresentIndex
from callcentre.core.search import Name, Words


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("tickets", "0023_indexes_of_timelines"), ("callcentre", "0005_search_functions")]

    operations = [
        AddMissingIndex(
            "company", GinIndex(OpClass(Name("name"), name="gin_trgm_ops"), name="company_plain_name")
        ),
        RemovePresentIndex("company", "company_search"),
        AddMissingIndex(
            "customer", GinIndex(OpClass(Name("name", "surname"), name="gin_trgm_ops"), name="customer_plain_name")
        ),
        RemovePresentIndex("customer", "customer_search"),
        AddMissingIndex(
            "customernumber",
            models.Index(OpClass(Reverse("number"), name="text_pattern_ops"), name="customernumber_ending"),
        ),
        AddMissingIndex(
            "ticket", GinIndex(Words("subject"), name="ticket_words", gin_pending_list_limit=512)
        ),
        AddMissingIndex(
            "message", GinIndex(Words("body", "comment"), name="message_words", gin_pending_list_limit=512)
        ),
    ]
