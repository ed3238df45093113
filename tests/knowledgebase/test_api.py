"""What only the knowledge base's operations do; what all have in common is in tests/test_api_contract.py."""

import json
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
import time_machine

from knowledgebase.models import Article, ArticleVote, SearchMiss
from knowledgebase.verbs.articles import edit_article, publish_article
from tests.conftest import ACTOR, ApiClient
from tests.knowledgebase.factories import ArticleFactory, ArticleImageFactory, CatalogFactory, CategoryFactory
from tests.serving import at_once

pytestmark = pytest.mark.django_db
BASE = "/api/knowledge_base"


def search(api: ApiClient, catalog: Any, query: str) -> Any:
    return api.get(f"{BASE}/catalogs/{catalog.pk}/search?query={query}")


def codes(response: Any) -> list[tuple[int, str]]:
    return [(error["code"], error["field"]) for error in response.json()["errors"]]


# Articles


def test_an_article_has_what_the_interface_says(api):
    with time_machine.travel(datetime(2026, 5, 4, 10, 15, 30, tzinfo=UTC)):
        article = ArticleFactory(title="Reset", content="<p>Open the <b>page</b>.</p>", written=True)

    answer = api.get(f"{BASE}/articles/{article.pk}").json()

    article = Article.objects.get(pk=article.pk)
    assert answer == {
        "id": str(article.pk),
        "title": "Reset",
        "content": "<p>Open the <b>page</b>.</p>",
        "category_id": str(article.category_id),
        "category_name": article.category.name,
        "catalog_id": str(article.catalog_id),
        "feedback": {"positive": 0, "negative": 0},
        "user_login": article.author.login,
        "created_at": f"{article.created_at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "updated_at": "2026-05-04T10:15:30Z",
    }


def test_a_draft_is_not_there(api):
    article = ArticleFactory(draft=True)

    assert api.get(f"{BASE}/articles/{article.pk}").status_code == 404
    assert api.post(f"{BASE}/articles/{article.pk}/feedback", {"positive": True}).status_code == 404


def test_readers_see_the_published_version_while_a_draft_is_written(api):
    article = ArticleFactory(title="Before", content="<p>old</p>")
    edit_article(article, ACTOR, title="After", content="<p>new</p>")

    answer = api.get(f"{BASE}/articles/{article.pk.hex.upper()}").json()

    assert answer == api.get(f"{BASE}/articles/{str(article.pk).upper()}").json()
    assert (answer["title"], answer["content"], answer["user_login"]) == ("Before", "<p>old</p>", "")


def test_updated_at_is_the_last_change_that_readers_see(api):
    def changed():
        updated_at: str = api.get(f"{BASE}/articles/{article.pk}").json()["updated_at"]
        return updated_at

    with time_machine.travel(datetime(2026, 5, 4, tzinfo=UTC), tick=False):
        article = ArticleFactory()
    for day, act, seen in (
        (5, lambda: edit_article(article, ACTOR, title="Draft"), 4),
        (6, lambda: publish_article(article, ACTOR), 6),
        (7, lambda: edit_article(article, ACTOR, category_id=CategoryFactory().pk), 7),
    ):
        with time_machine.travel(datetime(2026, 5, day, tzinfo=UTC), tick=False):
            act()
        assert changed() == f"2026-05-0{seen}T00:00:00Z"


def test_images_have_a_whole_address_that_needs_no_credential_once_their_article_is_published(api, anonymous):
    image = ArticleImageFactory()
    assert anonymous.get(image.path).status_code == 404
    article = ArticleFactory(content=f'<p><img src="{image.path}" alt=""></p>', draft=True)
    assert anonymous.get(image.path).status_code == 404
    publish_article(article, ACTOR)

    content = api.get(f"{BASE}/articles/{article.pk}").json()["content"]

    assert f'src="http://testserver{image.path}"' in content
    shown = anonymous.get(image.path)
    assert (shown.status_code, shown["Content-Type"]) == (200, "image/png")


def test_catalogs_are_listed_with_their_categories_in_order(api):
    catalog = CatalogFactory(name="Help", language="english")
    last, first = CategoryFactory(catalog=catalog, order=2), CategoryFactory(catalog=catalog, order=1)

    categories = [{"id": str(category.pk), "name": category.name} for category in (first, last)]
    listed = {"id": str(catalog.pk), "name": "Help", "language": "english", "categories": categories}
    assert api.get(f"{BASE}/catalogs").json() == [listed]


def test_articles_of_a_catalog_are_paged_by_title(api):
    category = CategoryFactory()
    for title in "CAB":
        ArticleFactory(category=category, title=title)
    ArticleFactory(category=category, draft=True)
    ArticleFactory()

    answer = api.get(f"{BASE}/catalogs/{category.catalog_id}/articles?limit=2&offset=1").json()

    assert answer["count"] == 3
    assert [article["title"] for article in answer["result"]] == ["B", "C"]


@pytest.mark.parametrize("other", ["", "x", "00000000-0000-0000-0000-000000000000"])
def test_articles_are_narrowed_to_a_category(other, api):
    article = ArticleFactory()
    CategoryFactory(catalog=article.catalog)
    path = f"{BASE}/catalogs/{article.catalog_id}/articles"

    assert api.get(f"{path}?category_id={article.category_id}").json()["count"] == 1
    assert api.get(f"{path}?category_id={other}").json()["count"] == (0 if other else 1)


# Search


def test_a_search_answers_hits_as_the_interface_says(api):
    article = ArticleFactory(title="Reset", content="<p>Your password</p>")

    assert search(api, article.catalog, "passw").json() == {
        "articles": [
            {
                "id": str(article.pk),
                "title": "Reset",
                "category_id": str(article.category_id),
                "category_name": article.category.name,
                "highlight": "Your <em>password</em>",
            }
        ]
    }


def test_an_empty_and_a_long_query_are_refused_but_an_unknown_catalog_first(api):
    catalog = CatalogFactory()

    assert search(api, catalog, "ż" * 200).json() == {"articles": []}
    for code, queries in ((100003, ["ż" * 201]), (100001, ["", "%20", "+", "%09%0A"])):
        for response in (search(api, catalog, query) for query in queries):
            assert (response.status_code, codes(response)) == (400, [(code, "query")])
    assert codes(api.get(f"{BASE}/catalogs/{catalog.pk}/search")) == [(100001, "query")]
    assert api.get(f"{BASE}/catalogs/{uuid4()}/search").status_code == 404


@pytest.mark.parametrize(
    "query",
    ["%00password", "password%00", "%ff%fe", "%ed%a0%80password", "%F0%9F%98%80", "%25", "%27%22%5C", "%E2%80%AE"],
)
def test_no_bytes_of_a_query_fail(query, api):
    article = ArticleFactory(content="<p>password</p>")

    response = search(api, article.catalog, query)

    assert response.status_code == 200
    assert len(response.json()["articles"]) == ("password" in query)


def test_a_search_is_counted_each_time_it_has_no_result(api):
    catalog = CatalogFactory()
    search(api, ArticleFactory(title="Gift cards").catalog, "gift")

    for query in ("Gift%20cards", "gift++CARDS", "gift cards", "%3F%21"):
        search(api, catalog, query)

    assert list(SearchMiss.objects.values_list("catalog", "query", "count")) == [(catalog.pk, "gift cards", 3)]


# Feedback


def vote(api: ApiClient, article: Article, **body: Any) -> Any:
    return api.post(f"{BASE}/articles/{article.pk}/feedback", body)


def test_votes_of_several_end_users_add_up(api, api_client):
    article = ArticleFactory()
    vote(api, article, positive=True, user_key="a")
    vote(api, article, positive=False, user_key="b")
    vote(api, article, positive=True)

    response = vote(api_client("*", login="other"), article, positive="1", user_key="a")

    assert (response.status_code, response.json()) == (201, {"positive": 3, "negative": 1})
    assert api.get(f"{BASE}/articles/{article.pk}").json()["feedback"] == {"positive": 3, "negative": 1}


def test_one_end_user_has_one_vote_and_may_change_it(api):
    article = ArticleFactory()

    before = api.get(f"{BASE}/articles/{article.pk}").json()

    answers = [vote(api, article, positive=value, user_key="a").json() for value in (True, True, False, False)]

    assert answers == [{"positive": 1, "negative": 0}] * 2 + [{"positive": 0, "negative": 1}] * 2
    assert ArticleVote.objects.count() == 1
    assert api.get(f"{BASE}/articles/{article.pk}").json()["updated_at"] == before["updated_at"]


def test_every_fault_of_a_vote_is_named(api):
    response = vote(api, ArticleFactory(), positive="perhaps", user_key="x" * 256)

    assert codes(response) == [(100007, "positive"), (100003, "user_key")]
    assert codes(vote(api, ArticleFactory())) == [(100001, "positive")]


def test_votes_at_once_are_each_counted_once(servers, credential):
    article = ArticleFactory()
    path = f"{BASE}/articles/{article.pk}/feedback"

    def cast(key):
        body = {"positive": True, "user_key": key}
        return servers[0].request("POST", path, body, auth=credential).status

    statuses = at_once([partial(cast, key) for key in ("same", "same", "same", "same", "other", "third")])

    assert statuses == [201] * 6
    counted = servers[1].request("GET", f"{BASE}/articles/{article.pk}", auth=credential)
    assert json.loads(counted.content)["feedback"] == {"positive": 3, "negative": 0}
