-- Functions of the indexes of searches: text without accents and capitals, and its words.
-- `unaccent` is not immutable, because its dictionary could change. The bodies in standard SQL keep the names of what they
-- call, with any search path.
CREATE FUNCTION callcentre_plain(given text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT RETURN lower(unaccent('unaccent', given));

-- The blank before each word lets a trigram index find the beginnings of words.
CREATE FUNCTION callcentre_name(name text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT RETURN ' ' || callcentre_plain(name);
CREATE FUNCTION callcentre_name(name text, surname text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT RETURN ' ' || callcentre_plain(name || ' ' || surname);

CREATE TEXT SEARCH CONFIGURATION callcentre_words (COPY = simple);
ALTER TEXT SEARCH CONFIGURATION callcentre_words ALTER MAPPING FOR asciiword, word, numword, asciihword, hword, numhword, hword_asciipart, hword_part, hword_numpart WITH unaccent, simple;

-- PostgreSQL's parser leaves out the tags of HTML. A vector holds a megabyte: the beginning of a long text fits.
CREATE FUNCTION callcentre_words(given text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT RETURN to_tsvector('callcentre_words', left(given, 20000));
CREATE FUNCTION callcentre_words(given text, other text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
RETURN to_tsvector('callcentre_words', left(given, 20000) || ' ' || left(other, 20000));
