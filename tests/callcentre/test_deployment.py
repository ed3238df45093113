"""deploy/, .env.example and docs/operations.md agree with each other and with the settings."""

import logging
import re
from ipaddress import ip_address, ip_network

import pytest
import yaml
from django.conf import settings
from django.urls import URLPattern, reverse

from callcentre.launch.postgres import POSTGRES_SETTINGS
from callcentre.launch.supervisor import PATIENCE_SECONDS, programs
from callcentre.monitoring.logging import LineFormatter
from callcentre.urls import urlpatterns
from callcentre.web.bodies import FIELDS_BYTES, MB, OPEN_FORM_BYTES, file_forms
from tests.processes import ROOT, arguments_of
from tickets.mail.mailbox_watch import READERS
from webhooks.delivery_worker import slots

SECRET = "cxyz-s3cret.91"
DEPLOY = ROOT / "deploy"
NGINX = (DEPLOY / "nginx.conf").read_text()
OPERATIONS = (ROOT / "docs" / "operations.md").read_text()
UNITS = {file.stem.removeprefix("callcentre-"): file.read_text() for file in (DEPLOY / "systemd").glob("*.service")}
# The leader has eight connections, the standby has one.
LISTENER_CONNECTIONS = 8 + 1
LISTENERS = ("listener", "standby")
# Its own, the one that holds its campaigns, and those of its threads.
DIALLER_CONNECTIONS = 6
# Its own, that of its main thread, and those of the threads that read.
WATCH_CONNECTIONS = 1 + 1 + READERS
TARGET = (DEPLOY / "systemd" / "callcentre.target").read_text()
IMPORT = "admin:campaigns_recordimport_add"
# The links that work without a log-in, as the proxy knows them.
LINKS = "/(?:admin/login/reset/[^/]+|sounds|ratings)"


@pytest.fixture(scope="module")
def compose():
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text())


def examples() -> dict[str, str]:
    """Return the variables of .env.example."""
    lines = (ROOT / ".env.example").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if re.match(r"[A-Z_0-9]+=", line))


def sizes() -> dict[str, int]:
    """Return path of nginx.conf -> the most bytes of a body; "" for all other paths."""
    found, place = {}, ""
    for line in NGINX.splitlines():
        if match := re.search(r"location (?:[=~] )?(\S+) {", line):
            place = match[1]
        elif re.match(r"    }", line):
            place = ""
        elif match := re.search(r"client_max_body_size (\d+)([km]);", line):
            found[place] = int(match[1]) * (MB if match[2] == "m" else 1024)
    return found


def log_format() -> str:
    (found,) = re.findall(r"log_format callcentre ([^;]*);", NGINX)
    return str(found)


def links_without_log_in() -> list[str]:
    """Return an address of each route with a variable part that needs no log-in, images of articles left out: they are
    open only when the article is.
    """
    public = [
        route
        for route in urlpatterns
        if isinstance(route, URLPattern) and route.pattern.converters and route.name != "article-image"
        if re.match(r"(?!admin/)|admin/login/", str(route.pattern))
    ]
    kwargs = [{name: SECRET if name == "token" else "MQ" for name in route.pattern.converters} for route in public]
    return [reverse(str(route.name), kwargs=values) for route, values in zip(public, kwargs, strict=True)]


def test_the_proxy_limits_bodies_as_the_service_does():
    forms = file_forms()
    largest = max(settings.DATA_UPLOAD_MAX_MEMORY_SIZE, *(forms[name] for name in forms if name != IMPORT))

    assert sizes() == {
        "": largest + 2 * FIELDS_BYTES,
        "/admin/login/": OPEN_FORM_BYTES,
        f"^{LINKS}/": OPEN_FORM_BYTES,
        "/admin/campaigns/recordimport/add/": forms[IMPORT] + FIELDS_BYTES,
    }
    for name in ("MAX_UPLOAD_MB", "MAX_IMPORT_MB"):
        assert examples()[name] == str(getattr(settings, name))


# The proxy


def test_proxy_and_service_agree_on_tls_idle_connections_and_networks_for_metrics():
    (value,) = re.findall(r'add_header Strict-Transport-Security "([^"]*)" always;', NGINX)
    (seconds,) = re.findall(r"keepalive_timeout (\d+)s;", NGINX)

    assert value == f"max-age={365 * 86400}; includeSubDomains; preload"
    assert "proxy_hide_header Strict-Transport-Security;" in NGINX
    # The proxy closes idle connections first.
    assert int(seconds) < 30
    assert not [line for line in UNITS["web"].splitlines() if "header-read-timeout" in line]
    assert ",".join(re.findall(r"allow (\S+);", NGINX)) == examples()["METRICS_ALLOWED_NETWORKS"]
    # All bodies except imports.
    assert re.findall(r"proxy_request_buffering (\w+);", NGINX) == ["on", "off"]


def test_each_deployment_trusts_the_proxy_beside_it(compose):
    (network,) = compose["networks"]["default"]["ipam"]["config"]
    gateway = network["gateway"].removeprefix("${GATEWAY:-").removesuffix("}")
    subnet = network["subnet"].removeprefix("${SUBNET:-").removesuffix("}")

    assert "server 127.0.0.1:8000 max_fails=1 fail_timeout=2s;" in NGINX
    assert examples()["TRUSTED_PROXIES"] == "127.0.0.1/32"
    assert compose["x-service"]["environment"]["TRUSTED_PROXIES"] == "${GATEWAY:-" + gateway + "}/32"
    assert ip_address(gateway) in ip_network(subnet)
    assert (examples()["SUBNET"], examples()["GATEWAY"]) == (subnet, gateway)
    assert compose["services"]["web"]["ports"] == ["127.0.0.1:8000:8000"]


def test_the_log_of_the_proxy_has_no_query_and_no_referrer():
    assert not re.findall(r"\$(?:request|request_uri|args|query_string|http_referer)\b", log_format())
    assert NGINX.count("access_log ") == NGINX.count("access_log /var/log/nginx/callcentre.log callcentre;") == 2
    assert NGINX.count("\nserver {") == 2


def test_the_logs_have_no_link_that_works_without_a_log_in():
    for path in links_without_log_in():
        (pattern, logged), *_rest = re.findall(r'"~(\S+)" "(\S+)";', NGINX)
        by_proxy = re.sub(pattern + ".*", logged.replace("$1", r"\1"), path)
        by_service = LineFormatter().format(
            logging.makeLogRecord({"msg": "Forbidden: %s", "args": (path,), "path": path})
        )

        assert re.search(rf"location ~ \^{re.escape(LINKS)}/ {{\n +error_log /dev/null;", NGINX)
        assert re.match(f"^{LINKS}/", path)
        assert [SECRET in text for text in (path, by_proxy, by_service)] == [True, False, False]


# Processes


def words(command: str) -> list[str]:
    """Return a command without the parts that may differ by place."""
    listed = command.replace("%%h", "%h").split()
    start = next(place for place, word in enumerate(listed) if word in ("-m", "manage.py"))
    kept = listed[start:]
    for option in ("--host", "--port", "--schedule"):
        if option in kept:
            place = kept.index(option)
            del kept[place : place + 2]
    return ["-q" if word == "--quiet" else word for word in kept]


def expected() -> dict[str, list[str]]:
    """Return the commands of the units."""
    return {name: words(" ".join(("python", *arguments_of(name)))) for name in UNITS if name != "standby"}


def test_the_containers_run_the_processes_of_the_units(compose):
    image = (DEPLOY / "Containerfile").read_text().replace("\\\n", "")
    (web,) = re.findall(r"^CMD \[(.*)\]$", image, re.MULTILINE)
    commands = {name: compose["services"][name].get("command") for name in expected()}
    commands["web"] = web.replace('"', "").replace(",", " ")

    assert {name: words(command) for name, command in commands.items()} == expected()


def without(command: list[str], *options: str) -> list[str]:
    """Return a command without these options and their values."""
    places = {command.index(option) for option in options}
    return [word for place, word in enumerate(command) if not {place, place - 1} & places]


def test_make_run_starts_processes_as_the_units_do():
    ours = {name: words(" ".join(("python", *arguments))) for name, arguments in programs(8000).items()}
    units = expected()

    # It has one web process, which ends sooner, and one worker for all queues.
    of_web = ("--workers", "--workers-kill-timeout")
    assert without(ours.pop("web"), *of_web) == without(units["web"], *of_web)
    of_worker = ("-n", "-Q", "-P", "-c")
    assert without(ours.pop("worker"), *of_worker) == without(units["processes"], *of_worker)
    # Its worker reads the mailboxes.
    assert ours == {name: units[name] for name in ("listener", "dialler", "beat")}


def option(command: list[str], name: str) -> str:
    return command[command.index(name) + 1]


BY_QUEUE = {queue: words for words in expected().values() if "-Q" in words for queue in option(words, "-Q").split(",")}


def test_every_queue_has_a_worker_that_it_shares_with_no_slower_work():
    worker = programs(8000)["worker"]

    assert sorted(BY_QUEUE) == sorted(option(worker, "-Q").split(",")) == sorted(settings.CELERY_TASK_QUEUE_NAMES)
    assert BY_QUEUE["calls"] != BY_QUEUE["webhooks"]
    assert option(BY_QUEUE["mail"], "-Q") == "mail"
    # A quarter of the threads is free of slow receivers.
    for of_webhooks in (BY_QUEUE["webhooks"], worker):
        assert slots.bound <= int(option(of_webhooks, "-c")) * 3 // 4


def test_a_web_server_that_is_still_starting_can_be_stopped():
    """A worker of granian ignores a signal that comes before its handler: then granian would wait for it for ever."""
    (stop_seconds,) = map(int, re.findall(r"TimeoutStopSec=(\d+)", UNITS["web"]))

    assert 0 < int(option(programs(8000)["web"], "--workers-kill-timeout")) < PATIENCE_SECONDS
    assert 0 < int(option(arguments_of("web"), "--workers-kill-timeout")) < stop_seconds


def test_the_documented_commands_are_those_of_the_units():
    """Ignore options of logging, which the document leaves to the units."""
    plain = [
        [word for word in command if word not in ("--log-config", "deploy/granian-logging.json", "-q")]
        for command in expected().values()
    ]

    documented = re.findall(r"^\| [^|]+ \| `(-m [^`]*|manage\.py [^`]*)` \|", OPERATIONS, re.MULTILINE)

    assert sorted(words(f"python {command}") for command in documented) == sorted(plain)


def test_the_documented_connections_are_those_of_the_processes(compose):
    commands = expected()
    workers = {
        name: int(words[words.index(option) + 1])
        for name, words in commands.items()
        for option in ("--workers", "-c")
        if option in words
    }
    per_worker = {"web": settings.WEB_THREADS}
    total = LISTENER_CONNECTIONS + DIALLER_CONNECTIONS + WATCH_CONNECTIONS
    total += sum(count * per_worker.get(name, 1) for name, count in workers.items())

    (documented,) = re.findall(r"(\d+) in all\. `max_connections`", OPERATIONS)

    assert int(documented) == total
    (available,) = re.findall(r"max_connections=(\d+)", compose["services"]["database"]["command"])
    assert total < int(available)
    assert total < int(POSTGRES_SETTINGS["max_connections"])


def test_each_deployment_has_a_listener_that_stands_by(compose):
    leader, standby = (re.sub(r"^Description=.*$", "", UNITS[name], flags=re.MULTILINE) for name in LISTENERS)

    assert standby == leader
    assert compose["services"]["listener"]["deploy"]["replicas"] == len(LISTENERS)
    assert {f"callcentre-{name}.service" for name in UNITS} == set(re.findall(r"callcentre-\w+\.service", TARGET))


# Confinement


def test_every_container_is_confined_and_has_a_limit_of_memory(compose):
    for name, service in compose["services"].items():
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["mem_limit"], name


def test_the_proxy_limits_log_ins():
    zone = re.search(r"limit_req_zone \$login_of zone=(\w+):\w+ rate=(\d+)r/m;", NGINX)

    assert zone is not None
    assert int(zone[2]) <= 30
    assert f"limit_req zone={zone[1]} " in NGINX


def test_images_are_pinned_by_digest(compose):
    """A value of `.env` follows `@sha256:`, so that only a digest completes the name of an image."""
    images = {service["image"].partition(":?")[0] for service in compose["services"].values()}
    built_from = re.findall(r"^FROM (.*)$", (DEPLOY / "Containerfile").read_text(), re.MULTILINE)

    assert images == {"callcentre", "postgres@sha256:${POSTGRES_SHA256", "valkey/valkey@sha256:${VALKEY_SHA256"}
    assert built_from == ["python@sha256:${PYTHON_SHA256}"]
    assert {"POSTGRES_SHA256", "VALKEY_SHA256", "PYTHON_SHA256"} <= set(examples())


def test_no_password_is_on_a_command_line(compose):
    commands = [str(service.get("command", "")).partition("<<")[0] for service in compose["services"].values()]

    assert not [command for command in commands if "PASSWORD" in command]


@pytest.mark.parametrize("name", sorted(UNITS))
def test_every_unit_is_confined(name):
    unit = UNITS[name].splitlines()

    for line in (
        "UMask=0077",
        "StateDirectoryMode=0700",
        "NoNewPrivileges=true",
        "CapabilityBoundingSet=",
        "SystemCallFilter=@system-service",
        "SystemCallFilter=~@privileged",
        "ProtectSystem=strict",
        "RestrictNamespaces=true",
    ):
        assert line in unit, line


def test_a_process_may_use_as_much_memory_in_a_unit_as_in_a_container(compose):
    units = {name: re.findall(r"^MemoryMax=(.*)$", unit, re.MULTILINE) for name, unit in UNITS.items()}

    assert {name: value.lower() for name, (value,) in units.items()} == {
        name: compose["services"]["listener" if name in LISTENERS else name]["mem_limit"] for name in units
    }
