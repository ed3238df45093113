-- Functions of the columns `search` and `peaks`. to_tsvector with a named configuration is immutable, as long as no person
-- changes the configuration; the search path is kept, so that a restored dump finds what it needs.

-- What PostgreSQL's parser would take for parts of addresses, paths, tags and numbers parts words, and nothing else.
-- A vector holds a megabyte and 16,383 places: 100,000 characters fit.
CREATE FUNCTION knowledgebase_words(given text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
  SELECT regexp_replace(left(given, 100000), '[#%&+./:;<=>?@_~-]', ' ', 'g')
$$;

-- Title (weight A) and text (D), words as they are written; in a language with a stemmer their stems too.
CREATE FUNCTION knowledgebase_vector(language text, title text, body text) RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT SET search_path FROM CURRENT AS $$
DECLARE
  heading text := knowledgebase_words(title);
  words text := knowledgebase_words(body);
  vector tsvector := setweight(to_tsvector('knowledgebase_simple', heading), 'A')
                     || to_tsvector('knowledgebase_simple', words);
  configuration regconfig;
BEGIN
  IF language NOT IN ('simple', 'polish') THEN
    configuration := ('knowledgebase_' || language)::regconfig;
    vector := vector || setweight(to_tsvector(configuration, heading), 'A') || to_tsvector(configuration, words);
  END IF;
  RETURN vector;
END $$;

-- Where an article stands out, as lexemes of two digits, a sign, and a word or the beginning of some.
-- 'NN=word': the first digit is how often the title has the word (3 at most), the second one says that the text has it
-- at least so often; 0 for a word of the title is left to mean any number. An article with many has the digits of fewer
-- too. 'NN^wo': all words with this beginning weigh at least so much together; of a beginning longer than three letters
-- the words of the title, where they are several. A lemma
-- ('~word') is never typed in part, so that it has no beginnings.
CREATE FUNCTION knowledgebase_peaks(vector tsvector) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
  WITH words AS MATERIALIZED (
    SELECT lexeme, least(cardinality(array_positions(weights, 'A')), 3) AS titles,
           cardinality(weights) - cardinality(array_positions(weights, 'A')) AS uses
    FROM unnest(vector)
    WHERE length(lexeme) <= 60
  ), beginnings AS (
    SELECT left(lexeme, n) AS beginning,
           sum(CASE WHEN titles > 0 THEN 0.8 + 0.2 * titles ELSE 0.1 END * (1 + 0.05 * least(uses, 4))) AS weight
    FROM words, generate_series(1, 6) AS n
    WHERE length(lexeme) >= n AND (n <= 3 OR titles > 0) AND lexeme NOT LIKE '~%'
    GROUP BY 1
  ), peaks AS (
    SELECT 10 * titles + level || '=' || lexeme AS peak
    FROM words, unnest('{0,2,3,4,6,8,10,13,16,20}'::int[]) WITH ORDINALITY AS levels(least_uses, place),
         LATERAL (SELECT place - 1 AS level) AS numbered
    WHERE uses >= least_uses AND (titles > 0 OR level > 0)
    UNION ALL
    SELECT 10 + level || '^' || beginning
    FROM beginnings,
         unnest('{0.4,0.6,0.8,1,1.3,1.6,2,2.4,3,3.6,4.4,5.4,6.5,8,10,13,17,22}'::numeric[])
         WITH ORDINALITY AS levels(least_weight, level)
    WHERE weight >= least_weight AND (length(beginning) <= 3 OR least_weight >= 1.6)
  )
  SELECT array_to_tsvector(coalesce(array_agg(CASE WHEN peak ~ '^[0-9][=^]' THEN '0' || peak ELSE peak END), '{}'))
  FROM peaks
$$;
