"""The extensions of searches."""

from django.contrib.postgres.operations import TrigramExtension, UnaccentExtension
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("callcentre", "0003_deletions")]
    operations = [TrigramExtension(), UnaccentExtension()]
