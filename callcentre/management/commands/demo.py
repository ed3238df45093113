import gc
import json
import os
import secrets
from typing import Any

from django.conf import settings
from django.contrib.auth.hashers import check_password
from django.contrib.auth.models import Group
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser

from callcentre.core.actor import SYSTEM
from callcentre.demonstration import articles, campaigns, switchboard, tickets
from callcentre.models import ApiUser, User
from telephony.models import Agent


class Command(BaseCommand):
    help = "Put the demonstration data into the database, once, and print the logins."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--migrate", action="store_true", help="apply the migrations first")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["migrate"]:
            # Migrations keep almost all that they make: collections took a quarter of the time, and later ones as much.
            gc.disable()
            call_command("migrate", verbosity=0, interactive=False)
            gc.freeze()
            gc.enable()
        api_password, admin_password = self._passwords()
        self._api_user("demo", ["*"], api_password)
        self._api_user("readonly", ["*:read"], api_password)
        for part in (switchboard, tickets, campaigns, articles):
            part.seed()
        # An agent too, so that the visitor can reply to tickets.
        self._person("admin", admin_password, "agent1", is_superuser=True)
        if agent := self._person("agent2", admin_password, "agent2"):
            agent.groups.set(Group.objects.filter(name="Agent"))
        self.stdout.write(f"API users:  demo, readonly   password: {api_password}")
        self.stdout.write(f"Admin user: admin            password: {admin_password}")
        self.stdout.write(f"Agent user: agent2           password: {admin_password}")

    def _passwords(self) -> tuple[str, str]:
        """Return the passwords of the environment, else generated ones, kept in a file that only this user can read."""
        path = settings.VAR / "demo.json"
        kept = json.loads(path.read_text()) if path.exists() else {}
        api = os.environ.get("DEMO_API_PASSWORD") or kept.get("api") or secrets.token_urlsafe(12)
        admin = os.environ.get("DEMO_ADMIN_PASSWORD") or kept.get("admin") or secrets.token_urlsafe(12)
        path.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump({"api": api, "admin": admin}, file)
        return api, admin

    def _api_user(self, login: str, rights: list[str], password: str) -> None:
        user = ApiUser.objects.filter(login=login).first()
        if user is None:
            ApiUser.create(SYSTEM, login, password, rights=rights, description="Demonstration")
        elif not check_password(password, user.password):
            user.set_password(SYSTEM, password)

    def _person(self, username: str, password: str, agent: str, **rights: Any) -> User | None:
        """Let a person log in who is this agent; return a new one."""
        user, is_new = User.objects.get_or_create(username=username, defaults={"is_staff": True, **rights})
        if is_new or not user.check_password(password):
            user.set_password(password)
            user.save(update_fields=["password"])
        if not is_new:
            return None
        Agent.objects.filter(login=agent, user=None).update(user=user)
        return user
