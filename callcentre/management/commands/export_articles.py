from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from knowledgebase.exchange import export_folder
from knowledgebase.models import Catalog


class Command(BaseCommand):
    help = "Export a catalog of the knowledge base as a folder of files, with its images; import_articles reads it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("catalog", help="the catalog's name")
        parser.add_argument("folder", type=Path)
        parser.add_argument("--format", choices=["html", "md"], default="html", help="md: Markdown, which says less")

    def handle(self, *args: Any, **options: Any) -> None:
        catalog = Catalog.objects.filter(name=options["catalog"]).first()
        if catalog is None:
            raise CommandError(f"There is no catalog {options['catalog']}.")
        with transaction.atomic():  # of the cursor that reads the articles
            count = sum(1 for _ in export_folder(catalog, options["folder"], options["format"]))
        self.stdout.write(f"{count} articles in {options['folder']}")
