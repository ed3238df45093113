from typing import Any

from django.contrib import admin, messages
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext, pgettext_lazy
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from callcentre.admin.base import Admin, ReadOnlyAdmin
from callcentre.limits import forget_failures
from callcentre.models import Lockout, User

# What only a superuser gives: whoever could give it to himself would have it already.
POWERS = ("is_superuser", "is_staff", "groups", "user_permissions")


@admin.register(User)
class UserAdmin(Admin, DjangoUserAdmin):  # type: ignore[type-arg]
    """Who works in the back office, and what may he do there?"""

    form = UserChangeForm
    remembers_initial = False  # the hash of the password is a field of this form
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ("username", "full_name", "email", "is_active", "is_staff", "is_superuser", "last_login")
    list_filter = ("is_active", "is_staff", "is_superuser", "groups")
    readonly_fields = ("last_login", "date_joined")
    autocomplete_fields = ("groups",)
    filter_horizontal = ("user_permissions",)
    fieldsets = (
        (None, {"fields": ("username", "password", "is_active")}),
        (_("Person"), {"fields": ("first_name", "last_name", "email")}),
        (_("Permissions"), {"fields": ("is_staff", "is_superuser", "groups", "user_permissions")}),
        (_("Dates"), {"fields": ("last_login", "date_joined")}),
    )
    add_fieldsets = ((None, {"fields": ("username", "password1", "password2")}),)

    @admin.display(description=pgettext_lazy("with the surname", "name"))
    def full_name(self, user: User) -> str:
        return user.get_full_name()

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        powers = () if request.user.is_superuser else POWERS
        return (*self.readonly_fields, *powers)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody but a superuser changes one, or could take his password."""
        if isinstance(obj, User) and obj.is_superuser and not request.user.is_superuser:
            return False
        return super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """A user who leaves is made inactive: what he did keeps his name."""
        return False

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        obj.save()

    def save_form(self, request: HttpRequest, form: Any, change: bool) -> Any:
        user = super().save_form(request, form, change)
        if not change:
            user.is_staff = True  # whoever is added here is meant to come in
        return user


admin.site.unregister(Group)


@admin.register(Group)
class GroupAdmin(Admin, DjangoGroupAdmin):
    """Permissions that people of one role share."""

    list_display = ("name",)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        obj.save()


@admin.register(Lockout)
class LockoutAdmin(ReadOnlyAdmin):
    """Who is not listened to, after too many wrong log-ins, and for how long?"""

    list_display = ("source", "login", "realm", "until")
    list_display_links = ("source",)
    list_filter = ("realm",)
    search_fields = ("source", "login")
    actions = ("forget",)
    fields = ("source", "login", "realm", "until")

    def has_forget_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("callcentre.delete_lockout")

    @admin.action(description=_("Listen again"), permissions=["forget"])
    def forget(self, request: HttpRequest, lockouts: QuerySet[Lockout]) -> None:
        ended = list(lockouts)
        for lockout in ended:
            forget_failures(lockout)
        sentence = ngettext("%(count)s lockout ended.", "%(count)s lockouts ended.", len(ended))
        self.message_user(request, sentence % {"count": len(ended)}, messages.SUCCESS)
