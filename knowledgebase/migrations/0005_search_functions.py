from django.db import migrations

# What a search asks of the database, as functions: their plans are kept with the connection, for each of its clients, so that
# a search is not planned anew each time, and takes one way to the database and back where no word is common.
FUNCTIONS = r"""
-- What to look for, as it is ranked. In a language without inflections the words as they are written, the last one as
-- the beginning of a word if it says so. In another all words by their stems; and in a second query all but the last
-- one so, and this as it is written. Each is ranked by itself: the words of an alternative would not be by how near
-- they are. What is not wanted is so in all its forms.
CREATE FUNCTION knowledgebase_queries(language text, first text, last text) RETURNS tsquery[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT AS $$
DECLARE
  whole text := concat_ws(' & ', nullif(first, ''), last);
  configuration regconfig := 'knowledgebase_' || language;
  written tsquery := to_tsquery('knowledgebase_simple', last);
BEGIN
  IF language = 'simple' OR last LIKE '!%' THEN
    RETURN ARRAY[to_tsquery(configuration, whole)];
  ELSIF first <> '' THEN
    written := to_tsquery(configuration, first) && written;
  END IF;
  RETURN ARRAY[to_tsquery(configuration, replace(whole, ':*', '')), written];
END $$;

-- The best matches of one or two queries; where `candidates` is given, of what stands out as that says.
CREATE FUNCTION knowledgebase_best(catalog uuid, queries tsquery[], candidates tsquery, hits integer)
RETURNS TABLE (id uuid, rank real)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 50
SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  ranked tsquery := queries[1];
  ranked_too tsquery := queries[2];
  wanted tsquery := coalesce(ranked || ranked_too, ranked);
BEGIN
  IF candidates IS NULL THEN
    -- Planned each time, as the best plan depends on how many articles the catalog has, and how many the words.
    RETURN QUERY EXECUTE '
      SELECT id, ts_rank(search, $3) + coalesce(ts_rank(search, $4), 0) AS rank FROM knowledgebase_article
      WHERE catalog_id = $1 AND is_published AND search @@ $2
      ORDER BY rank DESC, id LIMIT $5
    ' USING catalog, wanted, ranked, ranked_too, hits;
  ELSE
    -- IS TRUE keeps the planner from reading the index of `search` too, where a common word has most of the articles.
    RETURN QUERY
      SELECT id, ts_rank(search, ranked) + coalesce(ts_rank(search, ranked_too), 0) AS rank FROM knowledgebase_article
      WHERE catalog_id = catalog AND is_published AND peaks @@ candidates AND (search @@ wanted) IS TRUE
      ORDER BY rank DESC, id LIMIT hits;
  END IF;
END $$;

-- The same with what is shown of them, best first. To count the characters of a text costs more than to send it.
CREATE FUNCTION knowledgebase_hits(catalog uuid, queries tsquery[], candidates tsquery, hits integer, characters integer)
RETURNS TABLE (id uuid, title varchar, category_id uuid, category_name varchar, beginning text)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 50 AS $$
  SELECT a.id, a.title, a.category_id, k.name,
         CASE WHEN octet_length(a.text) <= characters THEN a.text ELSE left(a.text, characters) END
  FROM knowledgebase_best(catalog, queries, candidates, hits) AS best
  JOIN knowledgebase_article a ON a.id = best.id
  JOIN knowledgebase_category k ON k.id = a.category_id
  ORDER BY best.rank DESC, best.id
$$;

-- In rows of four kinds: the catalog's language, and how many articles it has; the stems of the words, by their place
-- in the query; which of its terms are common that a word can mean: those from `lows` on and before `highs`, for the
-- words in `places`, and its stem; and where there is none of these, the hits. Nothing where there is no such catalog.
CREATE FUNCTION knowledgebase_search(
  catalog uuid, words text[], places integer[], lows text[], highs text[], first text, last text, common integer,
  hits integer, characters integer)
RETURNS TABLE (kind text, place integer, term text, articles integer, levels smallint[], counts integer[],
               id uuid, title varchar, category_id uuid, category_name varchar, beginning text)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 50
SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  language text;
BEGIN
  kind := 'catalog';
  SELECT c.language, c.counted_articles INTO language, articles FROM knowledgebase_catalog c WHERE c.id = catalog;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  term := language;
  RETURN NEXT;
  IF language <> 'simple' THEN
    kind := 'stem';
    FOR place, term IN
      SELECT given.place, lexeme
      FROM unnest(words) WITH ORDINALITY AS given(word, place),
           unnest(to_tsvector(('knowledgebase_' || language)::regconfig, word))
    LOOP
      RETURN NEXT;
      places := places || place;
      lows := lows || ('=' || term);
      highs := highs || ('=' || term || chr(1));
    END LOOP;
  END IF;
  kind := 'term';
  FOR place, term, articles, levels, counts IN
    SELECT meant.place, t.term, t.articles, t.levels, t.counts
    FROM unnest(places, lows, highs) AS meant(place, low, high), LATERAL (
      SELECT * FROM knowledgebase_term
      WHERE catalog_id = catalog AND term >= low AND term < high AND articles >= common OFFSET 0
    ) AS t
  LOOP
    RETURN NEXT;
  END LOOP;
  IF FOUND THEN
    RETURN;
  END IF;
  kind := 'hit';
  FOR id, title, category_id, category_name, beginning IN
    SELECT * FROM knowledgebase_hits(catalog, knowledgebase_queries(language, first, last), NULL, hits, characters)
  LOOP
    RETURN NEXT;
  END LOOP;
END $$;
"""
DROP = """
DROP FUNCTION knowledgebase_search(uuid, text[], integer[], text[], text[], text, text, integer, integer, integer);
DROP FUNCTION knowledgebase_hits(uuid, tsquery[], tsquery, integer, integer);
DROP FUNCTION knowledgebase_best(uuid, tsquery[], tsquery, integer);
DROP FUNCTION knowledgebase_queries(text, text, text);
"""


class Migration(migrations.Migration):
    dependencies = [("knowledgebase", "0004_search_storage")]
    operations = [migrations.RunSQL(FUNCTIONS, DROP)]
