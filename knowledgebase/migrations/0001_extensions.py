from django.contrib.postgres.operations import TrigramExtension, UnaccentExtension
from django.db import migrations


class Migration(migrations.Migration):
    """Before the indexes and the text search configurations that need them."""

    initial = True
    dependencies = []
    operations = [TrigramExtension(), UnaccentExtension()]
