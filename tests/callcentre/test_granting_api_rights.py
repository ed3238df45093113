"""Limits of giving rights to API users, and of editing, rotating and disabling them."""

import pytest
from django.contrib.auth.models import Permission
from django.urls import reverse

from callcentre.admin.grant_limits import givable_rights, needed_permissions
from callcentre.core.actor import SYSTEM
from callcentre.core.scope import DIMENSIONS
from callcentre.models import AREAS, RIGHTS, ApiUser, User
from tests.backoffice import BackOffice, errors_of, messages_of, page_of, staff
from tests.callcentre.factories import UserFactory
from tests.conftest import ApiClient

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static", "quick_hashes")]

API_USERS = reverse("admin:callcentre_apiuser_changelist")
NEW = "a long and odd one"

# Areas that can be given

NARROW_RIGHTS = [right for right in RIGHTS if "*" not in right]


def me(client: BackOffice) -> User:
    return User.objects.get(pk=client.session["_auth_user_id"])


def names_of(right: str) -> list[str]:
    return [name.partition(".")[2] for name in needed_permissions()[right]]


def test_every_right_of_an_area_is_tied_to_permissions():
    named = {
        f"{one.content_type.app_label}.{one.codename}" for one in Permission.objects.select_related("content_type")
    }

    assert set(needed_permissions()) == set(NARROW_RIGHTS)
    assert {right.partition(":")[0] for right in needed_permissions()} == set(AREAS)
    assert {name for names in needed_permissions().values() for name in names} <= named
    assert all(needed_permissions().values())


@pytest.mark.parametrize("right", NARROW_RIGHTS)
def test_giving_an_area_needs_all_its_permissions(right):
    names = names_of(right)

    assert right in givable_rights(me(staff(*names)))
    for lacking in names:
        others = [name for name in names if name != lacking]
        assert right not in givable_rights(me(staff(*others)))


def test_only_superusers_can_give_wildcards():
    user: User = UserFactory(staff=True)
    user.user_permissions.set(Permission.objects.all())

    assert givable_rights(user) == NARROW_RIGHTS
    assert givable_rights(UserFactory(admin=True)) == RIGHTS


@pytest.mark.parametrize("column", DIMENSIONS)
def test_a_person_with_a_scope_gives_no_right(column):
    """Programs have no scope: they see all rows."""
    user: User = UserFactory(staff=True, **{column: [1]})
    user.user_permissions.set(Permission.objects.all())

    assert givable_rights(user) == []


@pytest.fixture
def api_manager():
    """Return a person who manages API users, and may read the campaigns."""
    return staff("view_apiuser", "add_apiuser", "change_apiuser", *names_of("campaigns:read"))


ROBOT = {"login": "robot", "is_active": "on"}


@pytest.mark.parametrize("rights", [["*"], ["*:read"], ["campaigns:write"], ["campaigns:read", "tickets:read"]])
def test_a_new_api_user_has_no_right_that_its_maker_cannot_give(api_manager, rights):
    response = api_manager.submit(reverse("admin:callcentre_apiuser_add"), expected=200, rights=rights, **ROBOT)

    assert errors_of(response) == {"rights": [f"You cannot give the right {rights[-1]}."]}
    assert not ApiUser.objects.exists()


def test_a_person_with_the_area_can_give_its_rights_and_no_further_ones(api_manager):
    own = ["campaigns:read"]
    api_manager.submit(reverse("admin:callcentre_apiuser_add"), expected=200, rights=own, **ROBOT)

    response = api_manager.submit(page_of(ApiUser.objects.get()), expected=200, rights=[*own, "agents:read"])

    assert errors_of(response) == {"rights": ["You cannot give the right agents:read."]}
    assert ApiUser.objects.get().rights == own


def test_the_matrix_offers_the_rights_that_can_be_given(api_manager):
    for client, expected in ((api_manager, ["campaigns:read"]), (staff("view_apiuser", "add_apiuser"), [])):
        page = client.page(reverse("admin:callcentre_apiuser_add"))
        assert [right for right in RIGHTS if f'name="rights" value="{right}"' in page] == expected
        assert "You can give the rights of those areas that you may use yourself." in page


@pytest.fixture(params=[["*"], ["*:write"], ["campaigns:read", "campaigns:write"]], ids=str)
def strong_robot(request):
    return ApiUser.create(SYSTEM, "robot", rights=request.param, allowed_networks=["127.0.0.0/8"])


@pytest.mark.parametrize(
    ("page", "typed"),
    [
        ("change", {"login": "robot", "rights": ["campaigns:read"], "allowed_networks": ""}),
        ("rotate_secret", {"overlap_hours": "0"}),
        ("set_password", {"password": NEW, "again": NEW}),
    ],
)
def test_a_stronger_api_user_cannot_be_taken_over(api_manager, strong_robot, page, typed):
    robot, secret = strong_robot
    typed = typed | ({"version": robot.updated_at.isoformat()} if page == "rotate_secret" else {})

    response = api_manager.post(page_of(robot, page), typed)

    assert response.status_code == 403
    assert ApiClient("robot", secret).get("/api/ping").status_code == 204
    assert [change.action for change in robot.changes.all()] == ["create"]


def test_a_stronger_api_user_has_no_buttons_and_cannot_be_disabled_from_the_list(api_manager, strong_robot):
    robot, _ = strong_robot
    weak, _ = ApiUser.create(SYSTEM, "weak", rights=["campaigns:read"])

    page = api_manager.page(page_of(robot))
    response = api_manager.act(API_USERS, "disable", robot, weak, apply="1")

    inputs = (page_of(robot, "rotate_secret"), page_of(robot, "set_password"), 'name="description"')
    assert [text in page for text in inputs] == [False] * 3
    assert messages_of(response) == [
        "robot was left as it is: it has rights that you cannot give.",
        "1 API user disabled.",
    ]
    assert dict(ApiUser.objects.values_list("login", "is_active")) == {"robot": True, "weak": False}


def test_a_weaker_api_user_can_be_edited_and_get_a_new_secret(api_manager):
    robot, _ = ApiUser.create(SYSTEM, "robot", rights=["campaigns:read"])

    api_manager.submit(page_of(robot), description="Nightly export")
    secret = api_manager.submit(page_of(robot, "rotate_secret"), expected=200).context["secret"]

    robot.refresh_from_db()
    assert robot.description == "Nightly export"
    assert ApiClient("robot", secret).get("/api/ping").status_code == 204
    assert page_of(robot, "rotate_secret") in api_manager.page(page_of(robot))
