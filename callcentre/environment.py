"""Typed readers of environment variables for the settings. An unreadable value raises an error that names the variable.

If `NAME` is not set, `NAME_FILE` is read: secrets can be mounted as files.
"""

import os
import sys
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from callcentre.launch.embedded import default_var, read_environment
from callcentre.monitoring.logging import write_lines_only

VAR = default_var()
# Variables of a `make run` in another terminal, so that commands beside it work with the same settings.
_RUNNING = read_environment(VAR)


def read_settings() -> None:
    """Read the settings. End this process with one sentence if they cannot be read."""
    write_lines_only()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "callcentre.settings")
    try:
        settings.INSTALLED_APPS  # noqa: B018  (the first access reads them)
    except ImproperlyConfigured as error:
        sys.exit(str(error))


def env(name: str, default: str = "") -> str:
    if name in os.environ:
        return os.environ[name].strip()
    if path := os.environ.get(f"{name}_FILE"):
        try:
            return Path(path).read_text().strip()
        except OSError as error:
            raise ImproperlyConfigured(f"{name}_FILE: cannot read {path}: {error}") from error
    return _RUNNING.get(name, default)


def env_bool(name: str, default: bool) -> bool:
    value = env(name).lower()
    if value in ("1", "true", "yes", "on"):
        return True
    if value in ("0", "false", "no", "off"):
        return False
    if value:
        raise ImproperlyConfigured(f"{name}: {value!r} is neither true nor false.")
    return default


def env_int(name: str, default: int, minimum: int = 0) -> int:
    value = env(name)
    if not value:
        return default
    if not value.isdecimal() or int(value) < minimum:
        raise ImproperlyConfigured(f"{name}: {value!r} is not a whole number of {minimum} or more.")
    return int(value)


def env_choice(name: str, *choices: str) -> str:
    """Return one of the choices; the first is the default."""
    value = env(name, choices[0])
    if value not in choices:
        raise ImproperlyConfigured(f"{name}: {value!r} is none of {', '.join(choices)}.")
    return value


def env_url(name: str, default: str = "") -> str:
    """Return a web address without a slash at its end, or ""."""
    value = env(name, default).rstrip("/")
    if value and urlsplit(value).scheme not in ("http", "https"):
        raise ImproperlyConfigured(f"{name}: {value!r} does not start with http:// or https://.")
    return value


def env_zone(name: str, default: str) -> str:
    value = env(name, default)
    try:
        ZoneInfo(value)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise ImproperlyConfigured(f"{name}: {value!r} is not a zone of the IANA database.") from error
    return value


def env_list(name: str, default: str = "") -> list[str]:
    return [item.strip() for item in env(name, default).split(",") if item.strip()]


def database(url: str, name: str = "DATABASE_URL") -> dict[str, Any]:
    """Return Django's dictionary for postgresql://user:password@host:port/name?option=value."""
    parts = urlsplit(url)
    if parts.scheme not in ("postgres", "postgresql"):
        raise ImproperlyConfigured(f"{name}: PostgreSQL is the only database; the URL starts postgresql://")
    is_one_host = "," not in parts.netloc.rpartition("@")[2]
    try:
        port = parts.port
    except ValueError:
        is_one_host = False
    if not is_one_host:
        raise ImproperlyConfigured(
            f"{name}: give one host with one port. For a cluster, give the address that leads to its primary server."
        )
    return {
        "ENGINE": "callcentre.core.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": unquote(parts.hostname or ""),
        "PORT": str(port or ""),
        # A worker thread keeps its connection. Authentication, the first query of a request, replaces a connection
        # that has died (callcentre.api.authentication), so requests need no health check.
        "CONN_MAX_AGE": env_int("DATABASE_CONN_MAX_AGE", 600),
        "OPTIONS": {
            # Parameters are sent apart from the SQL, so that a statement is planned once per connection. Set
            # DATABASE_PREPARE=0 behind a pooler in transaction mode that does not support prepared statements.
            "server_side_binding": True,
            "prepare_threshold": 2 if env_bool("DATABASE_PREPARE", True) else None,
            "connect_timeout": 5,
            "application_name": "callcentre",
            **dict(parse_qsl(parts.query)),
        },
        "TEST": {"NAME": env("TEST_DATABASE_NAME") or None},
    }


def files(folder: Path) -> dict[str, Any]:
    """Return Django's dictionary for the storage of files: the bucket S3_BUCKET, else the folder."""
    if not (bucket := env("S3_BUCKET")):
        return {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": folder}}
    # The packages are those of requirements-s3.lock. Without keys those of the machine count.
    names = {"access_key": "S3_ACCESS_KEY", "secret_key": "S3_SECRET_KEY", "region_name": "S3_REGION"}
    options = {option: env(name) or None for option, name in names.items()}
    options |= {"bucket_name": bucket, "endpoint_url": env_url("S3_ENDPOINT") or None}
    return {"BACKEND": "callcentre.core.s3_storage.Storage", "OPTIONS": options}
