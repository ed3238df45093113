"""Articles, where they are and what is kept about them as tests want them; a trait names a state."""

from datetime import timedelta
from typing import Any

import factory
from django.utils import timezone

from callcentre.core.actor import SYSTEM
from knowledgebase.models import (
    Article,
    ArticleChange,
    ArticleImage,
    ArticleVersion,
    ArticleVote,
    Catalog,
    Category,
    Lemma,
    SearchMiss,
    Term,
)
from knowledgebase.verbs.articles import create_article
from knowledgebase.verbs.images import create_image
from tests.callcentre.factories import ApiUserFactory
from tests.model_factory import ModelFactory
from tests.telephony.factories import AgentFactory

# The smallest valid picture.
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000 1f15c4890000000d49444154789c63f8cfc0f01f00050001ff"
    "56c72f0d0000000049454e44ae426082".replace(" ", "")
)


class CatalogFactory(ModelFactory[Catalog]):
    name = factory.Sequence(lambda n: f"Catalog {n}")


class CategoryFactory(ModelFactory[Category]):
    catalog = factory.SubFactory(CatalogFactory)
    name = factory.Sequence(lambda n: f"Category {n}")


class ArticleFactory(ModelFactory[Article]):
    """A published article, made by the verb."""

    category = factory.SubFactory(CategoryFactory)
    title = factory.Sequence(lambda n: f"Article {n}")
    content = "<p>Nothing in particular.</p>"
    is_public = True

    class Params:
        draft = factory.Trait(is_public=False)
        written = factory.Trait(author=factory.SubFactory(AgentFactory))

    @classmethod
    def _create(cls, model_class: type[Article], *args: Any, **kwargs: Any) -> Article:
        category, is_public = kwargs.pop("category"), kwargs.pop("is_public")
        return create_article(SYSTEM, category_id=category.pk, publish=is_public, **kwargs)[0]


class ArticleVersionFactory(ModelFactory[ArticleVersion]):
    article = factory.SubFactory(ArticleFactory)
    number = factory.Sequence(lambda n: n + 2)
    title = "Earlier"
    content = "<p>As it was.</p>"
    actor_kind = "user"
    actor_name = "tester"

    @classmethod
    def _after_postgeneration(cls, instance: ArticleVersion, *args: Any, **kwargs: Any) -> None:
        """Let the article go on counting from here."""
        Article.objects.filter(pk=instance.article_id, number__lt=instance.number).update(number=instance.number)


class ArticleChangeFactory(ModelFactory[ArticleChange]):
    article = factory.SubFactory(ArticleFactory)
    number = 1
    action = "edit"
    actor_kind = "user"
    actor_name = "tester"


class ArticleVoteFactory(ModelFactory[ArticleVote]):
    """A vote that nobody has counted."""

    article = factory.SubFactory(ArticleFactory)
    api_user = factory.SubFactory(ApiUserFactory)
    is_positive = True


class ArticleImageFactory(ModelFactory[ArticleImage]):
    """A picture that no article has yet."""

    name = "picture.png"
    content = PNG

    class Params:
        old = factory.Trait(created_at=factory.LazyFunction(lambda: timezone.now() - timedelta(days=2)))

    @classmethod
    def _create(cls, model_class: type[ArticleImage], *args: Any, **kwargs: Any) -> ArticleImage:
        image = create_image(SYSTEM, kwargs.pop("name"), kwargs.pop("content"))
        if kwargs:
            model_class.objects.filter(pk=image.pk).update(**kwargs)
        return image


class SearchMissFactory(ModelFactory[SearchMiss]):
    catalog = factory.SubFactory(CatalogFactory)
    query = factory.Sequence(lambda n: f"question {n}")

    class Params:
        old = factory.Trait(last_at=factory.LazyFunction(lambda: timezone.now() - timedelta(days=91)))


class LemmaFactory(ModelFactory[Lemma]):
    lemma = factory.Sequence(lambda n: f"lemma{n}")
    forms = factory.LazyAttribute(lambda made: [made.lemma])


class TermFactory(ModelFactory[Term]):
    catalog = factory.SubFactory(CatalogFactory)
    term = factory.Sequence(lambda n: f"=word{n}")
    articles = 1
