from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.utils.translation import gettext_lazy as _

# Version of the word forms that knowledgebase/word_forms.py makes. The worker indexes articles with a lower version
# again.
FORMS_VERSION = 1


class Lemma(models.Model):
    """A Polish lemma and all its forms, without accents. All catalogs share the rows, which never change.

    Searches read the lemmas of their words here.
    """

    lemma = models.CharField(_("lemma"), max_length=100, db_collation="C")
    forms = ArrayField(models.CharField(max_length=100, db_collation="C"), verbose_name=_("forms"))

    class Meta:
        verbose_name = _("lemma")
        verbose_name_plural = _("lemmas")
        ordering = ["lemma", "id"]
        constraints = [models.UniqueConstraint(fields=["lemma"], name="lemma_is_unique")]
        indexes = [GinIndex(fields=["forms"], name="lemma_forms", fastupdate=False)]

    def __str__(self) -> str:
        return self.lemma
