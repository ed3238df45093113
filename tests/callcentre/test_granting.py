"""Limits of giving permissions: people give only their own, and edit no stronger person or group."""

import pytest
from django.contrib.auth.models import Group, Permission
from django.urls import reverse

from callcentre.models import User
from tests.backoffice import BackOffice, errors_of, page_of, staff
from tests.callcentre.factories import UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static", "quick_hashes")]

API_USERS = reverse("admin:callcentre_apiuser_changelist")
NEW = "a long and odd one"
REFUSED = ["You can give only what you have yourself."]


def permission(name: str) -> Permission:
    found: Permission = Permission.objects.get(codename=name)
    return found


def group_with(*names: str) -> Group:
    group = Group.objects.create(name=f"with {', '.join(names)}")
    group.permissions.set(Permission.objects.filter(codename__in=names))
    return group


def me(client: BackOffice) -> User:
    return User.objects.get(pk=client.session["_auth_user_id"])


def superuser_account(user: User) -> None:
    user.is_superuser = True


def more_permissions(user: User) -> None:
    user.user_permissions.add(permission("view_ticket"))


def stronger_group(user: User) -> None:
    user.groups.add(group_with("view_agent", "delete_company"))


def sleeping_superuser(user: User) -> None:
    user.is_superuser, user.is_active = True, False


def sleeping_permissions(user: User) -> None:
    user.is_active = False
    more_permissions(user)


STRONGER = [superuser_account, more_permissions, stronger_group, sleeping_superuser, sleeping_permissions]


@pytest.fixture
def manager():
    """Return a person who manages users, and may view agents besides."""
    return staff("view_user", "change_user", "add_user", "view_agent")


@pytest.fixture(params=STRONGER, ids=lambda make: make.__name__)
def stronger(request):
    user: User = UserFactory(username="strong", email="strong@example.com", staff=True)
    request.param(user)
    user.save()
    return user


@pytest.mark.parametrize(
    "typed",
    [
        {"email": "attacker@example.com"},
        {"username": "weak"},
        {"is_active": ""},
        {"is_staff": ""},
        {"groups": [], "user_permissions": []},
    ],
    ids=str,
)
def test_a_stronger_user_cannot_be_edited(manager, stronger, typed):
    before = User.objects.values().get(pk=stronger.pk)
    shown = {"username": "strong", "email": "strong@example.com", "is_staff": "on", "is_active": "on"}

    response = manager.post(page_of(stronger), shown | typed)

    assert response.status_code == 403
    assert User.objects.values().get(pk=stronger.pk) == before


def test_the_page_of_a_stronger_user_has_no_inputs_and_sets_no_password(manager, stronger):
    path = reverse("admin:auth_user_password_change", args=[stronger.pk])

    page = manager.page(page_of(stronger))
    statuses = [manager.get(path).status_code, manager.post(path, {"password1": NEW, "password2": NEW}).status_code]

    assert [text in page for text in ("strong@example.com", 'name="email"', 'name="_save"')] == [True, False, False]
    assert statuses == [403, 403]
    assert User.objects.get(pk=stronger.pk).check_password("user-pass")


@pytest.mark.parametrize("name", ["view_user", "change_user", "add_user", "view_agent"])
def test_a_user_with_no_more_permissions_can_be_edited(manager, name):
    user: User = UserFactory(staff=True)
    user.user_permissions.add(permission(name))

    manager.submit(page_of(user), email="new@example.com", is_active=None)
    manager.submit(reverse("admin:auth_user_password_change", args=[user.pk]), password1=NEW, password2=NEW)

    user.refresh_from_db()
    assert (user.email, user.is_active, user.check_password(NEW)) == ("new@example.com", False, True)


# Giving to people


def test_a_person_can_give_permissions_of_their_own_and_of_their_groups(manager):
    user, group = UserFactory(staff=True), group_with("view_agent", "view_user")
    me(manager).groups.add(group_with("view_ticket"))
    given = [permission("change_user").pk, permission("view_ticket").pk]

    manager.submit(page_of(user), user_permissions=given, groups=[group.pk])

    assert {one.codename for one in user.user_permissions.all()} == {"change_user", "view_ticket"}
    assert list(user.groups.all()) == [group]


@pytest.mark.parametrize("is_self", [False, True])
def test_a_person_cannot_give_a_permission_or_group_beyond_their_own(manager, *, is_self):
    user = me(manager) if is_self else UserFactory(staff=True)
    before = set(user.user_permissions.all())
    permissions = [permission("view_agent").pk, permission("change_group").pk]
    groups = [group_with("view_agent", "change_group").pk]

    response = manager.submit(page_of(user), expected=200, user_permissions=permissions, groups=groups)

    assert errors_of(response) == {"user_permissions": REFUSED, "groups": REFUSED}
    assert (set(user.user_permissions.all()), user.groups.count()) == (before, 0)


@pytest.mark.parametrize("is_self", [False, True])
def test_only_a_superuser_makes_a_superuser(manager, *, is_self):
    user = me(manager) if is_self else UserFactory(staff=True)

    manager.submit(page_of(user), is_superuser="on")

    assert not User.objects.get(pk=user.pk).is_superuser


def test_the_page_offers_only_permissions_that_can_be_given(manager):
    weak, strong = group_with("view_agent"), group_with("view_agent", "change_group")

    form = manager.get(page_of(UserFactory(staff=True))).context["adminform"].form

    offered = {one.codename for one in form.fields["user_permissions"].queryset}
    assert offered == {"view_user", "change_user", "add_user", "view_agent"}
    assert set(form.fields["groups"].queryset) == {weak}
    assert strong not in form.fields["groups"].queryset
    assert "is_superuser" not in form.fields


def test_a_new_person_has_only_the_given_rights(manager):
    forged = {"is_superuser": "on", "user_permissions": [permission("change_group").pk]}

    manager.submit(reverse("admin:callcentre_user_add"), username="new", password1=NEW, password2=NEW, **forged)

    user = User.objects.get(username="new")
    assert (user.is_superuser, user.get_all_permissions()) == (False, set())


# Groups


@pytest.fixture
def group_manager():
    return staff("view_group", "add_group", "change_group", "delete_group", "view_agent")


def test_the_permission_to_change_groups_does_not_give_all_permissions(group_manager):
    group = group_with("view_agent")
    me(group_manager).groups.add(group)
    everything = list(Permission.objects.values_list("pk", flat=True))

    changed = group_manager.submit(page_of(group), expected=200, permissions=everything)
    new = group_manager.submit(
        reverse("admin:auth_group_add"), expected=200, name="All", permissions=[permission("change_user").pk]
    )

    assert errors_of(changed) == errors_of(new) == {"permissions": REFUSED}
    assert [one.codename for one in group.permissions.all()] == ["view_agent"]
    assert not Group.objects.filter(name="All").exists()


def test_a_person_makes_changes_and_deletes_groups_with_their_own_permissions(group_manager):
    own = permission("view_agent").pk
    group_manager.submit(reverse("admin:auth_group_add"), name="Team", permissions=[own])
    group = Group.objects.get(name="Team")

    group_manager.submit(page_of(group), name="Team A", permissions=[own, permission("view_group").pk])

    group.refresh_from_db()
    assert (group.name, group.permissions.count()) == ("Team A", 2)
    group_manager.submit(page_of(group, "delete"), post="yes")
    assert not Group.objects.filter(pk=group.pk).exists()


def stronger_permissions() -> Group:
    return group_with("view_agent", "change_user")


def stronger_member() -> Group:
    group = group_with("view_agent")
    UserFactory(admin=True).groups.add(group)
    return group


def member_with_more() -> Group:
    group = group_with("view_agent")
    user: User = UserFactory(staff=True)
    user.groups.add(group, group_with("view_ticket"))
    return group


STRONGER_GROUPS = [stronger_permissions, stronger_member, member_with_more]


@pytest.mark.parametrize("make", STRONGER_GROUPS)
def test_a_stronger_group_cannot_be_weakened(group_manager, make):
    group = make()
    before = set(group.permissions.all())

    answers = [
        group_manager.post(page_of(group), {"name": "weak", "permissions": []}),
        group_manager.get(page_of(group, "delete")),
        group_manager.post(page_of(group, "delete"), {"post": "yes"}),
    ]

    assert [answer.status_code for answer in answers] == [403] * 3
    group.refresh_from_db()
    assert (group.name == "weak", set(group.permissions.all())) == (False, before)


def test_groups_cannot_be_deleted_in_bulk(group_manager):
    group = stronger_permissions()

    group_manager.act(reverse("admin:auth_group_changelist"), "delete_selected", group, post="yes")

    assert Group.objects.filter(pk=group.pk).exists()
