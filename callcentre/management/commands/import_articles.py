from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from callcentre.core.actor import Actor
from knowledgebase.exchange import import_folder
from knowledgebase.models import Catalog, Term
from knowledgebase.models.catalog import Language


class Command(BaseCommand):
    help = (
        "Import a folder of Markdown or HTML files into a catalog of the knowledge base, which is made where there is"
        " none of the name. Sub-folders are categories; a file that names an article's id changes that article."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("catalog", help="the catalog's name")
        parser.add_argument("folder", type=Path)
        parser.add_argument("--language", choices=Language.values, help="of a catalog that is made; else: simple")
        parser.add_argument("--drafts", action="store_true", help="publish nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        folder: Path = options["folder"]
        if not folder.is_dir():
            raise CommandError(f"There is no folder {folder}.")
        language = options["language"] or Language.SIMPLE
        catalog, _ = Catalog.objects.get_or_create(name=options["catalog"], defaults={"language": language})
        if options["language"] and catalog.language != options["language"]:
            raise CommandError(f"The catalog {catalog.name} has the language {catalog.language}.")
        actor = Actor("import", None, f"import_articles {folder.name}")
        added = changed = same = failed = 0
        for outcome in import_folder(actor, catalog, folder, publish=not options["drafts"]):
            if outcome.problem:
                failed += 1
                self.stderr.write(f"{outcome.path}: {outcome.problem}")
                continue
            added += outcome.is_new
            changed += outcome.is_changed
            same += not (outcome.is_new or outcome.is_changed)
            if outcome.removed:
                self.stderr.write(f"{outcome.path}: taken out: {', '.join(outcome.removed)}")
        Term.objects.count_anew(catalog)
        self.stdout.write(f"{added} added, {changed} changed, {same} as they were, {failed} failed")
        if failed:
            raise CommandError("Some files were left out.")
