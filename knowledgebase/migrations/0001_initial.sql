-- Lemmas come from the dictionary, which the database has not: a trigger makes the rest of the columns, and the worker
-- adds the lemmas. To rank an article is to read its vector: 1 µs in the row itself, 4 µs in the table beside it.
ALTER TABLE knowledgebase_article ALTER COLUMN search DROP EXPRESSION, ALTER COLUMN peaks DROP EXPRESSION,
  ALTER COLUMN search SET STORAGE MAIN;

CREATE FUNCTION knowledgebase_article_changed() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  NEW.search := knowledgebase_vector(NEW.language, NEW.title, NEW.text);
  NEW.peaks := knowledgebase_peaks(NEW.search);
  IF TG_OP = 'UPDATE' THEN
    NEW.forms_version := 0;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER knowledgebase_article_added BEFORE INSERT ON knowledgebase_article
FOR EACH ROW EXECUTE FUNCTION knowledgebase_article_changed();
CREATE TRIGGER knowledgebase_article_changed BEFORE UPDATE OF language, title, text ON knowledgebase_article
FOR EACH ROW WHEN ((OLD.language, OLD.title, OLD.text) IS DISTINCT FROM (NEW.language, NEW.title, NEW.text))
EXECUTE FUNCTION knowledgebase_article_changed();

-- What a search asks of the database, as functions: their plans are kept with the connection, for each of its clients, so
-- that a search is not planned anew each time, and takes one way to the database and back if no word is common.

-- The vector with the lemmas of its words, at the places of the words: '~zwrot' where the text has "zwrotów". A word
-- stands in `words` once for each of its lemmas.
CREATE FUNCTION knowledgebase_with_lemmas(vector tsvector, words text[], lemmas text[]) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
  SELECT concat_ws(' ', vector::text, string_agg(format('''~%s'':%s', lemma, places), ' '))::tsvector
  FROM (
    SELECT lemma, string_agg(place || weight, ',') AS places
    FROM unnest(vector) AS entry(lexeme, positions, weights)
    JOIN unnest(words, lemmas) AS known(word, lemma) ON word = lexeme,
    unnest(positions, weights) AS placed(place, weight)
    GROUP BY lemma
  ) AS found
$$;

-- The lemmas of a word, and all forms of each.
CREATE FUNCTION knowledgebase_lemmas(word text) RETURNS TABLE (lemma text, forms text[])
LANGUAGE sql STABLE PARALLEL SAFE STRICT ROWS 2 AS $$
  SELECT l.lemma, l.forms FROM knowledgebase_lemma l WHERE l.forms @> ARRAY[word]::varchar[]
$$;

-- A query in which each word also stands for its other forms; or, to rank by, its lemmas instead of a word that has some.
-- A quotation mark in a word is doubled in the text of a query.
CREATE FUNCTION knowledgebase_in_all_forms(query tsquery, only_lemmas boolean) RETURNS tsquery
LANGUAGE sql STABLE PARALLEL SAFE STRICT AS $$
  SELECT coalesce(
    string_agg(
      coalesce('(' || CASE WHEN only_lemmas THEN '' ELSE part[1] || ' | ' END || lemmas || ')', part[1]), ''
      ORDER BY place)::tsquery,
    query)
  FROM regexp_matches(query::text, '''(?:[^'']|'''')*''(?::\*)?|[^'']+', 'g') WITH ORDINALITY AS parts(part, place),
  LATERAL (
    SELECT string_agg(format('''~%s''', lemma), ' | ' ORDER BY lemma) AS lemmas
    FROM knowledgebase_lemmas(substring(part[1], '''(.*)'''))
  ) AS known
$$;

-- What to look for: first the query that articles have to match, then one or two to rank them by.
-- Without a stemmer: the words in all forms that are known. They are ranked by their lemmas, which is several times as
-- fast as by words and lemmas; and once more by the words as they are written, so that these come first.
-- With a stemmer: all words by their stems; and in a second query all but the last one so, and this as it is written.
-- Each is ranked by itself: the words of an alternative would not be by how near they are.
-- What is not wanted is so in all its forms.
CREATE FUNCTION knowledgebase_queries(language text, first text, last text) RETURNS tsquery[]
LANGUAGE plpgsql STABLE PARALLEL SAFE STRICT AS $$
DECLARE
  whole text := concat_ws(' & ', nullif(first, ''), last);
  configuration regconfig := 'knowledgebase_' || language;
  written tsquery;
  inflected tsquery;
BEGIN
  IF language IN ('simple', 'polish') THEN
    written := to_tsquery(configuration, whole);
    inflected := knowledgebase_in_all_forms(written, false);
    IF inflected = written THEN
      RETURN ARRAY[written, written];
    END IF;
    RETURN ARRAY[inflected, knowledgebase_in_all_forms(written, true), written];
  END IF;
  inflected := to_tsquery(configuration, replace(whole, ':*', ''));
  IF last LIKE '!%' THEN
    RETURN ARRAY[inflected, inflected];
  END IF;
  written := to_tsquery('knowledgebase_simple', last);
  IF first <> '' THEN
    written := to_tsquery(configuration, first) && written;
  END IF;
  RETURN ARRAY[inflected || written, inflected, written];
END $$;

-- The best matches of these queries; where `candidates` is given, of what stands out as that says, and, if so wanted,
-- of all that have the words as they are written.
CREATE FUNCTION knowledgebase_best(
  catalog uuid, queries tsquery[], candidates tsquery, hits integer, all_written boolean)
RETURNS TABLE (id uuid, rank real)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 50
SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  wanted tsquery := queries[1];
  ranked tsquery := queries[2];
  ranked_too tsquery := queries[3];
BEGIN
  IF candidates IS NULL THEN
    -- Planned each time, as the best plan depends on how many articles the catalog has, and how many the words.
    RETURN QUERY EXECUTE '
      SELECT id, ts_rank(search, $3) + coalesce(ts_rank(search, $4), 0) AS rank FROM knowledgebase_article
      WHERE catalog_id = $1 AND is_published AND search @@ $2
      ORDER BY rank DESC, id LIMIT $5
    ' USING catalog, wanted, ranked, ranked_too, hits;
  ELSIF all_written THEN
    RETURN QUERY
      SELECT id, ts_rank(search, ranked) + coalesce(ts_rank(search, ranked_too), 0) AS rank FROM knowledgebase_article
      WHERE catalog_id = catalog AND is_published AND (search @@ wanted) IS TRUE AND id IN (
        SELECT id FROM knowledgebase_article
        WHERE catalog_id = catalog AND is_published AND peaks @@ candidates
        UNION
        SELECT id FROM knowledgebase_article
        WHERE catalog_id = catalog AND is_published AND search @@ ranked_too)
      ORDER BY rank DESC, id LIMIT hits;
  ELSE
    -- IS TRUE keeps the planner from reading the index of `search` too, where a common word has most of the articles.
    RETURN QUERY
      SELECT id, ts_rank(search, ranked) + coalesce(ts_rank(search, ranked_too), 0) AS rank FROM knowledgebase_article
      WHERE catalog_id = catalog AND is_published AND peaks @@ candidates AND (search @@ wanted) IS TRUE
      ORDER BY rank DESC, id LIMIT hits;
  END IF;
END $$;

-- The same with what is shown of them, best first. To count the characters of a text costs more than to send it.
CREATE FUNCTION knowledgebase_hits(
  catalog uuid, queries tsquery[], candidates tsquery, hits integer, characters integer,
  all_written boolean DEFAULT false)
RETURNS TABLE (id uuid, title varchar, category_id uuid, category_name varchar, beginning text)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 50 AS $$
  SELECT a.id, a.title, a.category_id, k.name,
         CASE WHEN octet_length(a.text) <= characters THEN a.text ELSE left(a.text, characters) END
  FROM knowledgebase_best(catalog, queries, candidates, hits, all_written) AS best
  JOIN knowledgebase_article a ON a.id = best.id
  JOIN knowledgebase_category k ON k.id = a.category_id
  ORDER BY best.rank DESC, best.id
$$;

-- In rows of four kinds: the catalog's language, and how many articles it has; the stems or lemmas of the words, by
-- their place in the query (of a lemma its forms too, as `beginning`); which of its terms are common that a word can
-- mean: those from `lows` on and before `highs`, for the words in `places`, and its stems; and where there is none of
-- these, the hits. Nothing where there is no such catalog.
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
  kind := 'stem';
  IF language IN ('simple', 'polish') THEN
    FOR place, term, beginning IN
      SELECT given.place, '~' || known.lemma, array_to_string(known.forms, ' ')
      FROM unnest(words) WITH ORDINALITY AS given(word, place), knowledgebase_lemmas(given.word) AS known
    LOOP
      RETURN NEXT;
      places := places || place;
      lows := lows || ('=' || term);
      highs := highs || ('=' || term || chr(1));
    END LOOP;
    beginning := NULL;
  ELSE
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
