"""The people who work in the back office, their groups, and lockouts."""

from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext, pgettext_lazy
from django.views.decorators.debug import sensitive_post_parameters
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from callcentre.admin.base import Admin, ReadOnlyAdmin, user_of
from callcentre.admin.grant_limits import givable_groups, givable_permissions, stronger_groups, stronger_users
from callcentre.admin.rights import RightsField, offered_rights, shown_rights
from callcentre.admin.scope import FIELDSET, ScopeForm, scope_field, scope_of
from callcentre.admin.secrets import OwnPasswordForm, password_inputs
from callcentre.admin.theme import ModelAdmin, ModelForm, column, display, needs, never, page_action
from callcentre.core.scope import DIMENSIONS
from callcentre.models import Lockout, User
from callcentre.rate_limits import forget_failures
from callcentre.signin.browsers import in_words
from callcentre.signin.models import ProviderGroup, RecoveryCode, SecondFactor
from callcentre.signin.verbs import (
    end_session,
    end_sessions,
    has_second_factor,
    remove_second_factor,
    sessions_of,
)


def rows_of(user: User, request: HttpRequest) -> list[dict[str, Any]]:
    """Return the sessions of a user for a page; `is_this` marks the session of the request."""
    own = request.session.session_key
    return [
        {
            "name": session.name,
            "browser": in_words(session.browser) or _now("unknown browser"),
            "address": session.address,
            "started_at": session.started_at,
            "seen_at": session.seen_at,
            "is_this": session.session_key == own,
        }
        for session in sessions_of(user)
    ]


def end_chosen(request: HttpRequest, user: User) -> str:
    """End the session of a user that a page names, or all but that of the request. Return the sentence about it."""
    actor, name = user_of(request).actor, request.POST.get("session")
    count = end_session(user, actor, name) if name else end_sessions(user, actor, but=request.session.session_key)
    return ngettext("%(count)s session ended.", "%(count)s sessions ended.", count) % {"count": count}


class SignInMixin(Admin):
    """The pages on which an administrator ends sessions and removes the second factor of a person.

    They need the permission to change this person: people cannot do this to stronger people.
    """

    actions_detail: Any = ("log_ins", "remove_factor")

    @page_action(description=_("Log-ins"), url_path="log-ins", icon="devices", permissions=["change"])
    def log_ins(self, request: HttpRequest, object_id: str) -> HttpResponse:
        user: User = self.row_or_404(request, object_id)
        if request.method == "POST":
            self.message_user(request, end_chosen(request, user), messages.SUCCESS)
            return redirect(request.path)
        return self.page(
            request,
            "admin/second_factor/sessions.html",
            user,
            title=_now("Log-ins"),
            rows=rows_of(user, request),
            person=user,
            factor=SecondFactor.objects.confirmed_of(user).first(),
            code_count=RecoveryCode.objects.filter(user=user).count(),
            remove_url=self.url_of("remove_factor", user.pk),
        )

    @page_action(
        description=_("Remove the second factor"),
        url_path="remove-factor",
        icon="phonelink_erase",
        permissions=["change"],
    )
    def remove_factor(self, request: HttpRequest, object_id: str) -> HttpResponse:
        user: User = self.row_or_404(request, object_id)
        if not has_second_factor(user):
            self.message_user(request, _("This person has no second factor."), messages.WARNING)
            return redirect(self.url_of("change", user.pk))
        form = OwnPasswordForm.of(request)(request.POST if request.method == "POST" else None)
        if form.is_valid():
            remove_second_factor(user, user_of(request).actor, but=request.session.session_key)
            self.message_user(
                request, _("The second factor is removed, and the person is logged out."), messages.SUCCESS
            )
            return redirect(self.url_of("change", user.pk))
        intro = _now(
            "For a person who has lost the phone and the recovery codes. Make sure that it is this person who asks: "
            "the password alone is then enough to log in, until a new second factor is set up."
        )
        return self.action_page(
            request, title=_now("Remove the second factor"), submit=_now("Remove"), intro=intro, form=form, obj=user
        )


class GivableFieldsMixin(ModelAdmin):
    """An admin that offers and accepts only the groups and permissions that the person may give."""

    # The field that has the permissions of the role or person.
    rights_field = "permissions"

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == self.rights_field:
            field = db_field.formfield(form_class=RightsField, label=_("Rights"), help_text="")
        else:
            field = super().formfield_for_manytomany(db_field, request, **kwargs)
            field.queryset = givable_groups(user_of(request))
        field.error_messages["invalid_choice"] = _("You can give only what you have yourself.")
        return field

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, change=change, **kwargs)
        if isinstance(field := form.base_fields.get(self.rights_field), RightsField):
            held = getattr(obj, self.rights_field).all() if obj else None
            field.queryset = offered_rights(givable_permissions(user_of(request)), held)
        return form

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the fieldsets. A person who may not change the rights sees the table of those that are given."""
        fieldsets = super().get_fieldsets(request, obj)
        if obj is None or self.has_change_permission(request, obj):
            return fieldsets
        return [
            (title, {**shown, "fields": ["rights" if name == self.rights_field else name for name in shown["fields"]]})
            for title, shown in fieldsets
        ]

    @display(description=_("Rights"))
    def rights(self, obj: Any) -> str:
        return shown_rights(getattr(obj, self.rights_field).all())

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save all columns; no button of these pages runs an action."""
        obj.save()

    def save_related(self, request: HttpRequest, form: Any, *rest: Any) -> None:
        """Write only the groups and rights that the person changed, so that others given meanwhile stay."""
        for field in self.opts.many_to_many:
            if field.name not in form.changed_data:
                form.cleaned_data.pop(field.name, None)
        super().save_related(request, form, *rest)


class ScopeColumnsMixin(ModelAdmin):
    """An admin of rows with the columns of a scope, in a form of `ScopeForm`."""

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form: Any = super().get_form(request, obj, change=change, **kwargs)
        form.editors_scope = scope_of(request)
        return form

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name in DIMENSIONS:
            return scope_field(db_field.name)
        return super().formfield_for_dbfield(db_field, request, **kwargs)


class UserForm(ScopeForm, UserChangeForm):
    """The form of a back-office user, with the scope."""


class NewUserForm(OwnPasswordForm, UserCreationForm):
    """The form of a new back-office user, whose password is set with it."""


class NewPasswordForm(OwnPasswordForm, AdminPasswordChangeForm):
    """The form in which an administrator sets the password of a back-office user."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # The page has no button for this: an administrator locks a person out by making the account inactive.
        self.fields.pop("usable_password", None)


@admin.register(User)
class UserAdmin(SignInMixin, GivableFieldsMixin, ScopeColumnsMixin, Admin, DjangoUserAdmin):  # type: ignore[type-arg]
    """The people who work in the back office, with their permissions."""

    form = UserForm
    sends_shown_values = False  # the hash of the password is a field of this form
    add_form = NewUserForm
    list_display = ("username", "full_name", "email", "is_active", "is_staff", "is_superuser", "last_login")
    list_filter = ("is_active", "is_staff", "is_superuser", "groups")
    readonly_fields = ("last_login", "date_joined")
    filter_horizontal = ("groups",)
    rights_field = "user_permissions"
    # A user who leaves is made inactive, so that the history keeps the name.
    has_delete_permission = never
    fieldsets = (
        (None, {"fields": ("username", "password", "is_active")}),
        (_("Person"), {"fields": ("first_name", "last_name", "email")}),
        (_("Permissions"), {"fields": ("is_staff", "is_superuser", "groups", "user_permissions")}),
        FIELDSET,
        (_("Dates"), {"fields": ("last_login", "date_joined")}),
    )

    full_name = column(User.get_full_name, description=pgettext_lazy("with the surname", "name"))

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is None:
            return [(None, {"fields": ["username", "password1", "password2", *password_inputs(request)]})]
        fieldsets = super().get_fieldsets(request, obj)
        if not _comes_by_provider(obj):
            return fieldsets
        sentence = _("This person logs in by %(provider)s: roles and scope follow the groups there.")
        said = {"description": sentence % {"provider": settings.OIDC_NAME}}
        return [(title, {**shown, **(said if "groups" in shown["fields"] else {})}) for title, shown in fieldsets]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Let only superusers make superusers."""
        return self.readonly_fields if request.user.is_superuser else (*self.readonly_fields, "is_superuser")

    def is_fixed(self, request: HttpRequest, obj: Any) -> bool:
        return stronger_users(user_of(request)).filter(pk=obj.pk).exists()

    def save_form(self, request: HttpRequest, form: Any, change: bool) -> Any:
        user = super().save_form(request, form, change)
        if not change:
            user.is_staff = True  # every user here works in the admin
            for column, ids in scope_of(request).by_column.items():
                setattr(user, column, ids)
        return user

    @method_decorator(sensitive_post_parameters())
    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:  # noqa: A002
        """Set a password for another user. The person at the page has to enter their own."""
        user = self.row_or_404(request, id)
        if _comes_by_provider(user):
            self.message_user(
                request, _("This person logs in by the provider, and has no password here."), messages.WARNING
            )
            return redirect(self.url_of("change", user.pk))
        form = NewPasswordForm.of(request)(user, request.POST or None)
        if request.method == "POST" and form.is_valid():
            form.save()
            self.log_change(request, user, [{"changed": {"fields": [_now("password")]}}])
            update_session_auth_hash(request, user)
            self.message_user(request, _("The password is set. Other sessions of the user are over."), messages.SUCCESS)
            return redirect(self.url_of("change", user.pk))
        return self.action_page(
            request, title=_now("Set a password"), submit=_now("Set the password"), form=form, obj=user
        )


def _comes_by_provider(user: User) -> bool:
    """Return whether the person logs in by the provider. A superuser never does."""
    return hasattr(user, "provider_identity") and not user.is_superuser


admin.site.unregister(Group)


@admin.register(Group)
class GroupAdmin(GivableFieldsMixin, Admin, DjangoGroupAdmin):  # type: ignore[misc]
    """Permissions that people of one role share."""

    list_display = ("name",)
    filter_horizontal = ()

    def is_fixed(self, request: HttpRequest, obj: Any) -> bool:
        """Refuse to change groups that are stronger: a permission taken from a group is taken from its members."""
        return stronger_groups(user_of(request)).filter(pk=obj.pk).exists()


class ProviderGroupForm(ScopeForm, ModelForm):
    """The form of a group at the provider, with the scope of its members."""


@admin.register(ProviderGroup)
class ProviderGroupAdmin(GivableFieldsMixin, ScopeColumnsMixin, Admin):
    """The groups at the provider of OpenID Connect, with what their members may do and see here."""

    form = ProviderGroupForm
    list_display = ("name", "roles")
    search_fields = ("name",)
    fieldsets = ((None, {"fields": ("name", "groups")}), FIELDSET)
    prefetched = ("groups",)

    roles = column(lambda group: ", ".join(role.name for role in group.groups.all()), description=_("Roles"))

    def is_fixed(self, request: HttpRequest, obj: Any) -> bool:
        """Refuse to change a group that gives more than the person could give."""
        return bool(obj.groups.exclude(pk__in=givable_groups(user_of(request))).exists())


@admin.register(Lockout)
class LockoutAdmin(ReadOnlyAdmin):
    """Log-ins that are refused after too many wrong passwords."""

    list_display = ("source", "login", "realm", "until")
    list_display_links = ("source",)
    list_filter = ("realm",)
    search_fields = ("source", "login")
    actions = ("forget",)
    fields = ("source", "login", "realm", "until")
    has_forget_permission = needs("callcentre.delete_lockout")

    @admin.action(description=_("Unlock"), permissions=["forget"])
    def forget(self, request: HttpRequest, lockouts: QuerySet[Lockout]) -> None:
        ended = list(lockouts)
        for lockout in ended:
            forget_failures(lockout)
        sentence = ngettext("%(count)s lockout ended.", "%(count)s lockouts ended.", len(ended))
        self.say_done(request, sentence, len(ended))
