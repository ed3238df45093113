"""A column of HTML for an editor. The editor's page would run the scripts of HTML that is not clean."""

from typing import Any

from django.core.exceptions import ValidationError
from django.db import models

from callcentre.core.errors import ErrorCode, Fault, Invalid
from callcentre.core.html_cleaning import Policy, Uncleanable, clean


class CleanHtmlField(models.TextField):  # type: ignore[type-arg]  # generic in the stubs only
    """HTML that a policy cleans at every save: by a form, a verb, a command or an update of many rows.

    Migrations see a text field.
    """

    def __init__(self, *args: Any, policy: Policy | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.policy = policy

    def deconstruct(self) -> Any:
        name, _path, args, kwargs = super().deconstruct()
        return name, "django.db.models.TextField", args, kwargs

    def clean(self, value: Any, model_instance: models.Model | None) -> Any:
        """Return the cleaned HTML, for a form. Raises ValidationError."""
        try:
            return self._cleaned(super().clean(value, model_instance))
        except Invalid as error:
            raise ValidationError(error.messages) from error

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        value = self._cleaned(super().pre_save(model_instance, add))
        setattr(model_instance, self.attname, value)
        return value

    def get_db_prep_save(self, value: Any, connection: Any) -> Any:
        return super().get_db_prep_save(self._cleaned(value), connection)

    def _cleaned(self, value: Any) -> Any:
        """Return the cleaned HTML; return an expression as it is. Raises Invalid."""
        if not isinstance(value, str) or self.policy is None:
            return value
        try:
            return clean(value, self.policy)
        except Uncleanable as error:
            raise Invalid([Fault(ErrorCode.HTML_UNCLEANABLE, self.name)]) from error
