"""New passwords by mail: the wish, the mail, the link, and what they reveal."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from callcentre.core.audit import AuditAction, AuditEntry
from callcentre.models import User
from callcentre.monitoring.logging import LineFormatter
from callcentre.signin.models import PasswordReset
from callcentre.signin.models.session import MOST_PER_LOGIN, MOST_PER_SOURCE
from callcentre.signin.tasks import mail_reset, prune_resets
from tests.backoffice import BackOffice, errors_of
from tests.callcentre.factories import PasswordResetFactory, SecondFactorFactory, UserFactory
from tests.statements import few_statements

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static", "quick_hashes")]

ASK, LOGIN, INDEX = reverse("password-reset"), reverse("admin:login"), reverse("admin:index")
NEW = "a-quite-long-word-7"


@pytest.fixture(autouse=True)
def _site(settings):
    settings.PUBLIC_URL = "https://callcentre.example"
    settings.DEFAULT_FROM_EMAIL = "desk@callcentre.example"


def ewa(**values: Any) -> User:
    return UserFactory(**{"username": "ewa", "email": "Ewa@client.example", "staff": True, **values})


def mailed(typed: str) -> list[Any]:
    """Ask for a new password, let the worker work, and return the mails."""
    BackOffice().submit(ASK, typed=typed)
    for reset in PasswordReset.objects.due():
        mail_reset(reset.pk)
    return mail.outbox


def link(typed: str = "ewa") -> str:
    """Return the path of the link in the mail."""
    found = re.search(r"https://callcentre\.example(/\S+)", mailed(typed)[-1].body)
    assert found
    return found[1]


def chosen(path: str, password: str = NEW, again: str = NEW) -> Any:
    """Open the link and choose a password, as a browser would."""
    client = BackOffice()
    page: Any = client.get(path, follow=True)
    form = page.redirect_chain[-1][0] if page.redirect_chain else path
    return client.post(form, {"new_password1": password, "new_password2": again})


@pytest.mark.parametrize("typed", ["ewa", "ewa@client.example", " EWA@CLIENT.EXAMPLE "])
def test_login_or_address_leads_to_a_mail_with_a_link(typed):
    ewa()

    (sent,) = mailed(typed)

    assert (sent.to, sent.from_email) == (["Ewa@client.example"], "desk@callcentre.example")
    assert "ewa" in sent.body
    assert "https://callcentre.example/admin/login/reset/" in sent.body


def test_the_link_sets_a_new_password_and_ends_the_sessions():
    user = ewa()
    client = BackOffice()
    assert f'href="{ASK}"' in client.page(LOGIN)
    client.force_login(user)
    path = link()

    answer = chosen(path)

    user.refresh_from_db()
    assert answer.url == reverse("password-reset-complete")
    assert user.check_password(NEW)
    assert (client.get(INDEX).status_code, user.sessions.count()) == (302, 0)
    assert BackOffice().post(LOGIN, {"username": "ewa", "password": NEW}).headers["Location"] == INDEX


def test_the_log_has_no_link(caplog):
    user = ewa()
    path = link()

    with caplog.at_level("INFO"):
        chosen(path)

    lines = "\n".join(LineFormatter().format(record) for record in caplog.records)
    uid = urlsafe_base64_encode(force_bytes(user.pk))
    assert f'"/admin/login/reset/{uid}/[secret]"' in lines
    assert path.rpartition("/")[2] not in lines


def test_the_answer_is_the_same_without_such_a_user():
    ewa()
    answers = []
    for typed in ("ewa", "nobody-of-this-name", "ewa@client.example", "nobody@client.example"):
        with few_statements(5):
            answers.append(Client().post(ASK, {"typed": typed}))

    assert {(answer.status_code, answer.headers["Location"]) for answer in answers} == {
        (302, reverse("password-reset-done"))
    }
    assert mail.outbox == []  # the worker sends, so that the time is the same too


@pytest.mark.parametrize(
    "values", [{"is_active": False}, {"is_staff": False}, {"email": ""}, {"password": "!unusable"}], ids=str
)
def test_some_users_get_no_mail(values):
    user = ewa(**{"staff": True, **{name: value for name, value in values.items() if name != "password"}})
    if "password" in values:
        user.set_unusable_password()
        user.save()

    assert mailed("ewa") == []


def test_users_with_one_address_get_a_mail_each_with_the_host_of_the_request(settings):
    settings.PUBLIC_URL = ""
    ewa()
    ewa(username="ewa2")

    bodies = [sent.body for sent in mailed("ewa@client.example")]

    assert ["http://testserver/admin/login/reset/" in body for body in bodies] == [True, True]


def test_the_mail_is_in_the_language_of_the_page():
    ewa()
    client = BackOffice()
    client.post(reverse("language"), {"language": "pl", "next": ASK})

    client.submit(ASK, typed="ewa")
    mail_reset(PasswordReset.objects.get().pk)

    assert mail.outbox[0].subject == "Nowe hasło"


@pytest.mark.parametrize(
    "end",
    [
        chosen,
        lambda path: BackOffice().submit(LOGIN, username="ewa", password="user-pass"),
        lambda path: User.objects.update(is_active=False),
        lambda path: f"/admin/login/reset/{User.objects.get().pk}/cxyz-abc",
        timedelta(minutes=61),
    ],
    ids=["used", "log-in with the old password", "inactive", "invented", "an hour old"],
)
def test_a_link_works_once_for_an_hour_and_until_the_next_log_in(end, clock):
    ewa()
    path = link()
    ended = clock.shift(end) if isinstance(end, timedelta) else end(path)

    page = BackOffice().page(ended if isinstance(ended, str) else path)

    assert "This link was used before" in page


@pytest.mark.parametrize(("password", "again"), [("123", "123"), ("ewa", "ewa"), ("password", "password"), (NEW, "x")])
def test_the_rules_of_passwords_apply(password, again):
    user = ewa()

    answer = chosen(link(), password, again)

    user.refresh_from_db()
    assert "new_password2" in errors_of(answer)
    assert user.check_password("user-pass")


def test_a_second_factor_is_still_asked_for():
    SecondFactorFactory(user=ewa())

    chosen(link())

    answer: Any = BackOffice().post(LOGIN, {"username": "ewa", "password": NEW})
    assert answer.url == reverse("log-in-code")


def test_a_login_gets_few_mails_an_hour(clock):
    ewa()
    for _ in range(MOST_PER_LOGIN + 2):
        mailed("ewa")

    assert len(mail.outbox) == MOST_PER_LOGIN
    clock.shift(timedelta(minutes=61))
    assert len(mailed("ewa")) == MOST_PER_LOGIN + 1


def test_an_address_asks_a_limited_number_of_times_an_hour():
    PasswordResetFactory.create_batch(MOST_PER_SOURCE, source="127.0.0.1")

    answer = BackOffice().post(ASK, {"typed": "ewa"})

    assert answer.status_code == 429
    assert PasswordReset.objects.count() == MOST_PER_SOURCE


def test_old_requests_are_deleted():
    reset = PasswordResetFactory()
    kept = PasswordResetFactory()
    PasswordReset.objects.filter(pk=reset.pk).update(created_at=timezone.now() - timedelta(days=2))

    prune_resets()

    assert list(PasswordReset.objects.all()) == [kept]


def test_the_audit_log_has_the_wish_and_names_the_person_who_chooses_the_password():
    user, path = ewa(), link()
    before = AuditEntry.objects.latest("id")

    chosen(path)

    entries = AuditEntry.objects.filter(pk__gt=before.pk, model="callcentre.user", object_id=str(user.pk))
    assert before.action == AuditAction.ASK_RESET
    assert [(entry.action, entry.actor_name, entry.actor_address) for entry in entries.order_by("id")] == [
        (AuditAction.RESET_PASSWORD, "ewa", "127.0.0.1"),
        ("edit", "ewa", "127.0.0.1"),
    ]
