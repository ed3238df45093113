"""The service in the memory of the launcher, from which its processes are forked.

Each process would need more time to import all modules than for the rest of its start, and memory of its own for them.
A forked process shares both. See docs/decisions/0025.
"""

import gc
import os
import runpy
import sys
import warnings
from hashlib import sha256
from importlib import import_module
from pathlib import Path

import django
from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils.module_loading import import_string

ROOT = Path(__file__).resolve().parents[2]
# Modules of others that need no settings; the workers of Celery import some of them only when they start.
LIBRARIES = (
    "celery.app.amqp",
    "celery.app.control",
    "celery.app.events",
    "celery.app.log",
    "celery.apps.beat",
    "celery.apps.worker",
    "celery.backends.base",
    "celery.bin.celery",
    "celery.concurrency.prefork",
    "celery.concurrency.thread",
    "celery.contrib.django.task",
    "celery.events.receiver",
    "celery.worker.autoscale",
    "celery.worker.components",
    "celery.worker.consumer",
    "celery.worker.consumer.delayed_delivery",
    "celery.worker.strategy",
    "django.contrib.admin",
    "django.contrib.postgres.fields",
    "granian.cli",
    "granian.server",
    "kombu.transport.redis",
    "phonenumbers",
    "structlog",
    "xlsxwriter",
)
# Modules of the processes that nothing else imports.
OF_PROCESSES = (
    "callcentre.beat",
    "callcentre.urls",
    "campaigns.dialling.dialler",
    "telephony.listener",
)


def load_libraries() -> None:
    """Import the libraries. The launcher does this while the cluster of PostgreSQL is made."""
    for name in LIBRARIES:
        import_module(name)


def load() -> None:
    """Import everything that the processes use. The environment must have all settings."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "callcentre.settings")
    # Nothing that is loaded here is ever freed, so a collection would only take time.
    gc.disable()
    load_libraries()
    django.setup()
    for name in OF_PROCESSES:
        import_module(name)
    for name in settings.MIDDLEWARE:
        import_string(name)
    import_module("callcentre.celery").app.loader.import_default_modules()
    import_module("callcentre.core.phone").warm_up()
    # Collections in the processes skip these objects. They would write to them, which ends the sharing.
    gc.freeze()
    gc.enable()


def run(name: str, arguments: tuple[str, ...]) -> None:
    """Run Python's arguments (`-m MODULE …` or `FILE …`) in this forked process, under a name for `ps -o comm`."""
    os.chdir(ROOT)
    Path("/proc/self/comm").write_text(name)
    # Each worker would print this warning, although root was chosen on purpose.
    warnings.filterwarnings("ignore", "You're running the worker with superuser privileges")
    if arguments[0] == "-m":
        sys.argv = list(arguments[1:])
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = list(arguments)
        runpy.run_path(arguments[0], run_name="__main__")


def migrate() -> None:
    # Migrations make and drop many versions of each model. To collect them costs a fifth of the time, and this process
    # ends soon.
    gc.disable()
    connection.settings_dict.update(settings.DIRECT_DATABASE or {})
    with connection.cursor() as cursor:
        # This session only. If PostgreSQL crashes now and loses the last migrations, the next start runs them again.
        cursor.execute("SET synchronous_commit = off")
    try:
        call_command("migrate", interactive=False, verbosity=0)
    except CommandError as error:
        sys.exit(str(error))


def add_demonstration_data() -> None:
    call_command("demo")


def collect_static_files() -> None:
    """Collect the static files, unless the same files have been collected before."""
    files = sorted(
        (path, found.st_size, found.st_mtime_ns)
        for finder in get_finders()
        for path, storage in finder.list(None)
        for found in [Path(storage.path(path)).stat()]
    )
    fingerprint = sha256(repr((settings.STORAGES, files)).encode()).hexdigest()
    kept = settings.STATIC_ROOT / "collected.txt"
    if kept.exists() and kept.read_text() == fingerprint:
        return
    call_command("collectstatic", interactive=False, verbosity=0)
    kept.write_text(fingerprint)
