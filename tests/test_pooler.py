"""PgBouncer in transaction mode between the service and PostgreSQL: nothing lives in a session."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from django.core.checks import Tags, run_checks
from django.core.management import CommandError
from django.db import connection, transaction

from callcentre.core.actor import SYSTEM
from callcentre.core.advisory_locks import try_lock
from callcentre.core.audit import AuditEntry
from callcentre.environment import database
from callcentre.launch.servers import is_free
from callcentre.models import ApiUser
from campaigns.models import Campaign
from tests.campaigns.factories import CampaignFactory
from tests.processes import ROOT, environment, wait_for
from tests.serving import WebServer, at_once, free_port, web_servers

pytestmark = pytest.mark.slow("starts PgBouncer and a web server")

PGBOUNCER = shutil.which("pgbouncer")
with_pgbouncer = pytest.mark.skipif(not PGBOUNCER, reason="pgbouncer is not installed (apt install pgbouncer)")
CONFIGURATION = """
[databases]
{NAME} = host={HOST} port={PORT} user={USER} password={PASSWORD} dbname={NAME}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
auth_type = any
pool_mode = transaction
default_pool_size = 3
"""
# What leaves something in a session, and the files that do it on a session of their own or in one transaction.
OF_SESSIONS = {
    r"pg_(?:try_)?advisory_(?:un)?lock(?:_shared)?\(|\b(?:take|release)\((?:self\._)?own\b": {
        "callcentre/beat.py",
        "callcentre/core/advisory_locks.py",
        "tickets/mail/mailbox_watch.py",
        "campaigns/dialling/ownership.py",
        "telephony/leader_election.py",
    },
    r"\"SET (?!LOCAL|TRANSACTION|CONSTRAINTS)": {
        "callcentre/core/direct_connection.py",
        "callcentre/management/commands/migrate.py",
        "campaigns/dialling/ownership.py",
    },
    r"set_config\([^()]*, false\)": set(),
    r"\bLISTEN \w|pg_notify": set(),
    # Their tables are dropped at the commit.
    r"CREATE TEMP": {"campaigns/importing/do_not_call_file.py", "campaigns/importing/merge.py"},
    # A cursor outside a transaction.
    r"\.iterator\(": {
        "callcentre/core/personal_data.py",
        "callcentre/lists/actions.py",
        "callcentre/lists/exports.py",
        "campaigns/admin/attempts.py",
        "knowledgebase/exchange.py",
    },
}


@pytest.mark.parametrize("pattern", OF_SESSIONS)
def test_no_statement_leaves_something_in_a_session(pattern):
    product = [path for path in ROOT.glob("*/**/*.py") if path.parts[len(ROOT.parts)] not in ("tests", "benchmarks")]
    own = [path for path in product if "migrations" not in path.parts and ".venv" not in path.parts]

    found = {str(path.relative_to(ROOT)) for path in own if re.search(pattern, path.read_text())}

    assert found == OF_SESSIONS[pattern]


@pytest.fixture
def pooled(committed_db):
    """Run PgBouncer in front of the test's database. Return the variables of a process that uses it."""
    place, port = connection.settings_dict, free_port()
    direct = environment(Path())["DATABASE_URL"]
    with tempfile.NamedTemporaryFile("w", suffix=".ini") as configuration:
        configuration.write(CONFIGURATION.format(**place, port=port))
        configuration.flush()
        # PgBouncer does not run as root.
        Path(configuration.name).chmod(0o644)
        account = "nobody" if os.geteuid() == 0 else None
        process = subprocess.Popen(
            [PGBOUNCER or "", configuration.name], user=account, stderr=subprocess.DEVNULL, cwd="/"
        )
        try:
            wait_for(lambda: not is_free(port, "127.0.0.1"), "PgBouncer answers")
            yield {
                "DATABASE_URL": direct.replace(f"@{place['HOST']}:{place['PORT']}/", f"@127.0.0.1:{port}/"),
                "DATABASE_DIRECT_URL": direct,
                "DATABASE_PREPARE": "0",
                "DATABASE_LOCK_TIMEOUT": "1",
            }
        finally:
            process.terminate()
            process.wait()


@with_pgbouncer
def test_requests_through_a_pooler_name_their_sender_and_wait_for_no_row_for_long(pooled, tmp_path):
    """The pool has three sessions for eight threads, so each session serves several senders."""
    logins = [f"program-{number}" for number in range(8)]
    secrets = {login: ApiUser.create(SYSTEM, login, rights=["*"])[1] for login in logins}
    campaigns = {login: CampaignFactory(name=login) for login in logins}
    AuditEntry.objects.all().delete()

    def edit(server, login, number):
        path = f"/api/outbounds/{campaigns[login].code}"
        return server.request("PUT", path, {"name": f"{login} {number}"}, auth=f"{login}:{secrets[login]}").status

    with web_servers(1, tmp_path, **pooled) as [server]:
        statuses = at_once([partial(edits, server, login, edit) for login in logins])
        with transaction.atomic():
            Campaign.objects.select_for_update().get(name="program-0 9")
            [waited] = at_once([partial(edit, server, "program-0", 10)])

    assert statuses == [[204] * 10] * 8
    entries = AuditEntry.objects.filter(model="campaigns.campaign").values_list("object_name", "actor_name")
    assert len(entries) == 80
    assert [(name, actor) for name, actor in entries if name.split()[0] != actor] == []
    assert waited == 409


def edits(server: WebServer, login: str, edit: Callable[..., int]) -> list[int]:
    return [edit(server, login, number) for number in range(10)]


@pytest.mark.usefixtures("committed_db")
def test_a_cursor_of_the_server_lives_in_a_transaction_only():
    """Without one, Django would keep a cursor in the session, also for the choices of a field."""
    CampaignFactory()

    def kept():
        for _campaign in Campaign.objects.iterator():
            with connection.cursor() as cursor:
                cursor.execute("SELECT name FROM pg_cursors WHERE name <> ''")
                return [name for (name,) in cursor]
        raise AssertionError

    assert kept() == []
    with transaction.atomic():
        assert len(kept()) == 1


@with_pgbouncer
def test_locks_of_leaders_need_a_connection_without_the_pooler(pooled, settings):
    settings.DIRECT_DATABASE = database(pooled["DATABASE_URL"])

    with pytest.raises(CommandError, match="set DATABASE_DIRECT_URL"), try_lock(1, 2):
        pass

    messages = run_checks(tags=[Tags.database], databases=["default"])
    assert [message.id for message in messages] == ["callcentre.E060"]
