"""Indexes for the articles that the front page counts and names. Writes go on meanwhile."""

from django.db import migrations, models
from django.db.models import F, Q

from callcentre.core.migration_steps import AddMissingIndex, RemovePresentIndex


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("knowledgebase", "0009_audit")]

    operations = [
        AddMissingIndex(
            "article",
            models.Index(
                F("positive_count") - F("negative_count"),
                "title",
                "id",
                name="article_worst",
                condition=Q(negative_count__gt=F("positive_count"), is_published=True),
            ),
        ),
        AddMissingIndex(
            "article",
            models.Index(fields=["id"], name="article_drafts", condition=~Q(published_number=F("number"))),
        ),
        RemovePresentIndex("article", "article_voted_down"),
    ]
