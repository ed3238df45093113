"""Demonstration data of the knowledge base."""

from django.db import transaction

from callcentre.core.actor import SYSTEM
from callcentre.demonstration import DATA
from knowledgebase.exchange import import_folder
from knowledgebase.models import Catalog, Category, Term

CATALOG = "Customer help"
CATEGORIES = ("Orders", "Payments and invoices", "Account")


@transaction.atomic
def seed() -> None:
    """Create a catalog with three categories, twelve published articles and a draft, unless it exists."""
    catalog, is_new = Catalog.objects.get_or_create(name=CATALOG)
    if not is_new:
        return
    for place, name in enumerate(CATEGORIES, start=1):
        Category.objects.create(catalog=catalog, name=name, order=10 * place)
    for outcome in import_folder(SYSTEM, catalog, DATA / "articles"):
        if outcome.problem:
            raise ValueError(f"{outcome.path}: {outcome.problem}")
    Term.objects.count_anew(catalog)
