"""The time that the server needs for each page of the admin, over that of an empty page of the same run.

The empty page has the menu, the head and the user, as each page has: it is the bound. The list and the newest row of
each model are opened, and the pages that belong to no row.

python -m benchmarks.pages [ROWS]
"""

import json
import sys

from benchmarks.harness import Service, Visitor, manage, medians, service

ROWS = 1_000_000
ARTICLES = 50_000
TURNS, WARM_UP = 15, 5
GOAL = 8
# The search without a text.
EMPTY = "/admin/search/"
# The code that prints the address of each page.
ADDRESSES = """
import json
from django.contrib import admin
from django.urls import NoReverseMatch, reverse
found = ["/admin/", "/admin/first-steps/", "/admin/search/?q=jan+kowal"]
for model, model_admin in admin.site._registry.items():
    name = f"admin:{model._meta.app_label}_{model._meta.model_name}_"
    patterns = [pattern.name.removeprefix(name[6:]) for pattern in model_admin.get_urls() if pattern.name]
    newest = model.objects.order_by("-pk").first()
    for page in patterns:
        if page in ("autocomplete", "delete"):
            continue
        for arguments in ([], [newest.pk] if newest else []):
            try:
                found.append(reverse(name + page, args=arguments))
                break
            except NoReverseMatch:
                continue
print(json.dumps(found))
"""


def measure(running: Service) -> None:
    visitor = Visitor(running)
    addresses = json.loads(manage(running.environment, "shell", "--verbosity=0", "-c", ADDRESSES).splitlines()[-1])
    print("\n## Pages of the admin\n\n| page | empty page | ours | ratio | |\n|---|---|---|---|---|", flush=True)
    slow = []
    for address in dict.fromkeys(addresses):
        if not visitor.is_page(address):
            continue

        def ours(address: str = address) -> None:
            visitor.send("GET", address, expect=200)

        empty, page = medians(TURNS, lambda: visitor.send("GET", EMPTY, expect=200), ours, warm_up=WARM_UP)
        verdict = "met" if page / empty <= GOAL else "MISSED"
        if verdict != "met":
            slow.append(address)
        cells = (f"`{address}`", f"{empty * 1000:.1f} ms", f"{page * 1000:.1f} ms", f"{page / empty:.1f}", verdict)
        print(f"| {' | '.join(cells)} |", flush=True)
    print(f"\n{len(slow)} pages above {GOAL}: {', '.join(slow) or 'none'}")


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    with service(rows) as running:
        manage(running.environment, "collectstatic", "--noinput", "--verbosity=0")
        given = (f"--connections={rows}", f"--tickets={rows}", f"--articles={min(ARTICLES, rows)}")
        print(manage(running.environment, "generate_data", *given), file=sys.stderr)
        with running.connect() as connection:
            connection.execute("VACUUM ANALYZE")
            connection.execute("CHECKPOINT")
        measure(running)


if __name__ == "__main__":
    main()
