"""Rules that linters cannot check: relations by name, migrations, admin and factory of models, overrides, imports."""

import ast
import importlib
import inspect
import pkgutil
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

import grimp
import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations as django_migrations
from django.db.migrations.loader import MigrationLoader
from django.db.models import Field, Model

from callcentre.core.errors import ErrorCode

ROOT = Path(__file__).resolve().parents[1]
# From the floor up: an app may refer to the apps before it.
LAYERS = [
    *("callcentre", "signin", "webhooks", "telephony", "knowledgebase", "tickets", "campaigns", "reports", "overview"),
]
# Neither app may refer to the other.
SIBLINGS = {frozenset({"tickets", "knowledgebase"})}

WITHOUT_ADMIN = {
    "callcentre.AuditEntry": "read in the audit log, with all histories",
    "callcentre.FileRemoval": "gone as soon as the storage has removed the file",
    "callcentre.FileStore": "one row, by which hosts compare their folders of files",
    "callcentre.IdempotencyRecord": "answers kept for a day, encrypted: nobody reads them",
    "campaigns.AdditionalNumber": "edited with its record",
    "campaigns.CampaignField": "edited with its campaign",
    "campaigns.CampaignHours": "edited with its campaign",
    "campaigns.DiallerState": "shown on the page of dialling of its campaign",
    "campaigns.DiallingDay": "shown on the pages of dialling and compliance",
    "campaigns.RetryRule": "edited with its campaign",
    "campaigns.FormerCode": "read only for the next free code",
    "campaigns.TrunkFailure": "shown as the reason of the campaigns that rest, and by an alarm",
    "campaigns.RecordStatus": "edited with its campaign",
    "overview.AlarmMail": "shown with its alarm",
    "signin.PasswordReset": "kept for a day, for the service only",
    "signin.ProviderIdentity": "said on the page of its user",
    "signin.ProviderSession": "tokens; the log-in itself is shown beside its user",
    "signin.RecoveryCode": "hashes; their number is shown with the second factor",
    "signin.SecondFactor": "shown on pages of its own, beside its user",
    "signin.UserSession": "shown on pages of its own, beside its user",
    "reports.ExportMail": "shown with its export",
    "reports.ScheduleChange": "read at its schedule",
    "reports.Rollup": "sums that nobody edits: the report shows them",
    "telephony.AgentLine": "the state of a phone, for the service only: calls are read at their connections",
    "reports.RollupProgress": "two rows, which the worker writes for itself",
    "telephony.LedgerChange": "gone as soon as the report has summed it",
    "telephony.ConnectionTopic": "shown with its connection",
    "telephony.TranscriptionUsage": "said above the list of transcriptions",
    "callcentre.Heartbeat": "a row per process, which it writes for itself: the overview says which are missing",
    "telephony.CallerStep": "where a caller without an agent stands, for the service only",
    "telephony.CallerMessage": "a recording, which is read at its call",
    "telephony.BrowserPhone": "the window of a phone, which the page of its agent tells of",
    "telephony.CallQuality": "shown with its connection",
    "telephony.SwitchContact": "one row, which the listener writes for itself",
    "telephony.SwitchCommand": "gone as soon as the simulated switch has answered",
    "tickets.AutomationState": "one row, by which processes notice changed rules",
    "tickets.RuleRun": "for the service only: the history of the ticket has each run",
    "tickets.TicketDraft": "a text that its writer has not sent: the page of the ticket has it",
    "tickets.DeadlineNotice": "for the service only: the history of the ticket has each notice",
    "tickets.AcknowledgedAddress": "who got an acknowledgement within the hour: for the service only",
    "knowledgebase.ArticleImage": "seen in its article",
    "knowledgebase.ArticleVote": "counted at its article; who voted is nobody's business",
    "knowledgebase.Lemma": "read from a dictionary by the service, for searches",
    "knowledgebase.Term": "counted by the service, for searches",
    "tickets.ChatMessage": "read in its chat",
    "tickets.CustomerNote": "read at its customer",
    "tickets.CustomerNumber": "edited with its customer",
    "tickets.BouncedAddress": "a reply to the address warns",
    "tickets.MailboxGrant": "tokens, for the service only: its queue says what is wrong",
    "tickets.MailboxTest": "read at its queue",
    "tickets.Message": "read in its ticket",
    "tickets.Notice": "for its agent: on the bar and on the page of the agent's notices",
    "tickets.TicketFollower": "listed at its ticket",
    "tickets.TicketChange": "read at its ticket",
    "tickets.TicketCount": "a number in parts, kept by a trigger",
}


def our_models() -> list[type[Model]]:
    return [model for model in apps.get_models() if model._meta.app_label in LAYERS]


def names(models: Iterable[type[Model]]) -> set[str]:
    return {model._meta.label for model in models}


def test_relations_point_down_the_layers():
    upwards = []
    for model in our_models():
        for field in model._meta.get_fields():
            if not isinstance(field, Field) or not field.is_relation or field.related_model is None:
                continue
            own, other = model._meta.app_label, field.related_model._meta.app_label
            if other in LAYERS and (LAYERS.index(other) > LAYERS.index(own) or frozenset({own, other}) in SIBLINGS):
                upwards.append(f"{model._meta.label}.{field.name} -> {field.related_model}")
    assert upwards == []


def test_our_apps_are_all_in_the_layers():
    ours = {config.label for config in apps.get_app_configs() if Path(config.path).parent == ROOT}

    assert ours <= set(LAYERS)


def _inlines() -> set[str]:
    return {inline.model._meta.label for model_admin in admin.site._registry.values() for inline in model_admin.inlines}


def test_every_model_has_an_admin_or_a_reason_for_none_that_is_still_needed():
    shown, ours = names(admin.site._registry), names(our_models())

    assert ours - shown - _inlines() - set(WITHOUT_ADMIN) == set()
    assert set(WITHOUT_ADMIN) <= ours - shown


def test_every_model_has_a_factory():
    made = set()
    for path in sorted((ROOT / "tests").glob("*/factories.py")):
        module = importlib.import_module(f"tests.{path.parent.name}.factories")
        for name, value in vars(module).items():
            if name.endswith("Factory"):
                made.add(value._meta.model)
    assert names(our_models()) - names(model for model in made if model) == set()


def test_every_model_has_an_order_that_ends_in_a_unique_column():
    unordered = []
    for model in our_models():
        last = model._meta.ordering[-1].lstrip("-") if model._meta.ordering else ""  # type: ignore[union-attr]
        if not last or not (last in ("id", "pk") or model._meta.get_field(last).unique):  # type: ignore[union-attr]
            unordered.append(model._meta.label)
    # Users are Django's own, ordered by the admin.
    assert set(unordered) - {"callcentre.User"} == set()


def test_every_model_has_a_docstring():
    # Without a docstring, Django writes one with the name and the fields.
    silent = [model._meta.label for model in our_models() if (model.__doc__ or "").startswith(f"{model.__name__}(")]

    assert silent == []


@pytest.fixture(scope="module")
def loader():
    return MigrationLoader(None)


def test_migrations_are_linear_and_have_no_generated_names(loader):
    for app in LAYERS:
        ours = sorted(key for key in loader.disk_migrations if key[0] == app)
        for previous, key in zip([None, *ours], ours, strict=False):
            of_own_app = [one for one in loader.disk_migrations[key].dependencies if one[0] == app]
            assert of_own_app == ([previous] if previous else []), key
            assert re.match(r"\d{4}_[a-z]", key[1]), key
            assert not re.search(r"_auto_|_alter_.*_and_", key[1]), key


def test_schema_and_data_never_share_a_migration(loader):
    """The first migration of an app makes a new database, in which there are no rows."""
    data = (django_migrations.RunPython, django_migrations.RunSQL)
    for (app, name), migration in loader.disk_migrations.items():
        if app in LAYERS and name != "0001_initial":
            kinds = {isinstance(step, data) for step in migration.operations if not _drops_an_index(step)}
            assert len(kinds) <= 1, (app, name)


def _drops_an_index(step: Any) -> bool:
    return str(getattr(step, "sql", "")).startswith("DROP INDEX CONCURRENTLY IF EXISTS ")


def test_an_interrupted_build_of_an_index_is_built_again(loader):
    """It leaves an index that is not valid, over which Django's own step stumbles."""
    for key, migration in loader.disk_migrations.items():
        for before, step in zip([None, *migration.operations], migration.operations, strict=False):
            if isinstance(step, AddIndexConcurrently):
                dropped = getattr(before, "sql", "")
                assert dropped == f"DROP INDEX CONCURRENTLY IF EXISTS {step.index.name}", key


# Codes


def _sources() -> Iterable[Path]:
    for app in LAYERS:
        yield from (ROOT / app).rglob("*.py")


def _codes_named_in(path: Path) -> set[str]:
    return {
        node.attr
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "ErrorCode"
    }


@pytest.mark.slow("reads the whole code")
def test_every_code_that_is_raised_exists():
    named = {name for path in _sources() for name in _codes_named_in(path)}

    assert {name for name in named if not hasattr(ErrorCode, name)} == set()


def test_every_message_can_be_formatted():
    """Check that a message has no stray per cent sign: it is formatted with the parameters of its fault."""
    for code in ErrorCode:
        placeholders = re.findall(r"%\((\w+)\)s", str(code.text))
        assert str(code.text) % dict.fromkeys(placeholders, "x")


def test_every_module_can_be_imported_by_itself():
    for app in LAYERS:
        if (ROOT / app / "__init__.py").exists():
            for module in pkgutil.walk_packages([str(ROOT / app)], f"{app}."):
                importlib.import_module(module.name)


@pytest.mark.slow("reads the whole code")
def test_a_module_gives_a_name_once():
    """Two modules that become one may have given a name twice, and the second meaning wins."""
    twice = []
    for app in LAYERS:
        for path in sorted((ROOT / app).rglob("*.py")):
            given = Counter(
                name
                for step in ast.parse(path.read_text()).body
                for name in (
                    [step.name]
                    if isinstance(step, ast.FunctionDef | ast.ClassDef)
                    else [each.id for each in step.targets if isinstance(each, ast.Name)]
                    if isinstance(step, ast.Assign)
                    else []
                )
            )
            twice += [f"{path.relative_to(ROOT)}: {name}" for name, count in given.items() if count > 1]

    assert twice == []


# Methods in which Django, DRF, Celery and Unfold do more than to return what a subclass may choose.
HOOKS = {
    *("initial", "dispatch", "check_permissions", "check_throttles", "finalize_response", "handle_exception"),
    *("authenticate", "get_user", "process_request", "process_response"),
    *("save", "delete", "full_clean", "clean", "_post_clean"),
    *("save_form", "save_model", "save_related", "save_formset"),
    *("delete_model", "delete_queryset", "response_add", "response_change", "response_delete", "get_object"),
    *("changelist_view", "change_view", "add_view", "delete_view", "history_view", "user_change_password"),
    *("log_addition", "log_change", "log_deletions", "has_changed", "verify_token"),
    *("setup_schedule", "tick", "apply_entry", "adjust", "on_failure", "close"),
}


def overrides() -> Iterator[tuple[type, str, Any]]:
    """Yield (class, name, function) of each method of ours that a framework has too."""
    for app in LAYERS:
        for found in pkgutil.walk_packages([str(ROOT / app)], f"{app}.") if (ROOT / app).exists() else ():
            module = importlib.import_module(found.name)
            for _name, cls in inspect.getmembers(module, inspect.isclass):
                if cls.__module__ == module.__name__:
                    for name in HOOKS & vars(cls).keys():
                        if inspect.isfunction(vars(cls)[name]) and _is_of_framework(cls, name):
                            yield cls, name, vars(cls)[name]


def _is_of_framework(cls: type, name: str) -> bool:
    """Return whether the method that is overridden is of a framework, and has more than one statement."""
    base = next((base for base in cls.__mro__[1:] if name in vars(base)), None)
    if base is None or not inspect.isfunction(vars(base)[name]):
        return False
    path = inspect.getsourcefile(vars(base)[name]) or ""
    [function] = ast.parse(textwrap.dedent(inspect.getsource(vars(base)[name]))).body
    steps = [step for step in function.body if not isinstance(step, ast.Expr) or isinstance(step.value, ast.Call)]  # type: ignore[attr-defined]
    return len(steps) > 1 and (not Path(path).is_relative_to(ROOT) or ".venv" in path)


@pytest.mark.slow("reads the whole code")
def test_an_override_calls_what_it_overrides_or_says_what_happens_instead():
    found = list(overrides())
    silent = [
        f"{cls.__module__}.{cls.__qualname__}.{name}"
        for cls, name, function in found
        if "super()" not in inspect.getsource(function) and not function.__doc__
    ]

    assert len(found) > 20
    assert silent == [], "\n".join(silent)


PACKAGES = ("callcentre", "campaigns", "knowledgebase", "reports", "telephony", "tickets", "webhooks")


def test_no_modules_import_each_other_in_a_circle():
    graph = grimp.build_graph(*PACKAGES, exclude_type_checking_imports=True, cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}

    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        pytest.fail("import each other: " + " ← ".join(error.args[1]))
