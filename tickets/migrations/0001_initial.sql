-- Triggers keep the number of tickets, in the transaction that adds or removes tickets.
CREATE FUNCTION tickets_keep_count() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  difference bigint;
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    DELETE FROM tickets_ticketcount;
    RETURN NULL;
  ELSIF TG_OP = 'INSERT' THEN
    SELECT count(*) INTO difference FROM changed;
  ELSE
    SELECT -count(*) INTO difference FROM changed;
  END IF;
  IF difference <> 0 THEN
    -- A session always writes to one part. Two sessions that share it wait for each other, but cannot deadlock.
    INSERT INTO tickets_ticketcount AS c (slot, count) VALUES (pg_backend_pid() % 64, difference)
    ON CONFLICT (slot) DO UPDATE SET count = c.count + EXCLUDED.count;
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER tickets_count_added AFTER INSERT ON tickets_ticket
REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tickets_keep_count();
CREATE TRIGGER tickets_count_removed AFTER DELETE ON tickets_ticket
REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tickets_keep_count();
CREATE TRIGGER tickets_count_emptied AFTER TRUNCATE ON tickets_ticket
FOR EACH STATEMENT EXECUTE FUNCTION tickets_keep_count();

-- Tickets by words of their subjects and messages. A word that most messages have would find a million rows:
-- `gin_fuzzy_search_limit` has the index return about so many of them, by chance. `+ 0` keeps the planner from reading the
-- rows in the order of their keys. Two helpers of a parallel plan take ten times the time of the search itself. Of a word
-- that almost all messages have, the planner would read the table in place of the index.
CREATE FUNCTION tickets_with_words(wanted tsquery, most integer) RETURNS TABLE (ticket_id bigint)
LANGUAGE plpgsql STABLE SET gin_fuzzy_search_limit = 2000 SET max_parallel_workers_per_gather = 0
SET enable_seqscan = off AS $$
BEGIN
  RETURN QUERY
  SELECT found.id FROM (
    (SELECT t.id FROM tickets_ticket t WHERE callcentre_words(t.subject) @@ wanted ORDER BY t.id + 0 DESC LIMIT most)
    UNION
    (SELECT m.ticket_id FROM tickets_message m WHERE callcentre_words(m.body, m.comment) @@ wanted
     ORDER BY m.id + 0 DESC LIMIT most)
  ) AS found ORDER BY found.id DESC LIMIT most;
END $$;

-- Words before beginnings of words: the index reads all messages with a beginning, with any limit.
CREATE FUNCTION tickets_with_words(wanted tsquery, begun tsquery, most integer) RETURNS TABLE (ticket_id bigint)
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN QUERY SELECT found.ticket_id FROM tickets_with_words(wanted, most) AS found;
  IF NOT FOUND AND begun::text <> wanted::text THEN
    RETURN QUERY SELECT found.ticket_id FROM tickets_with_words(begun, most) AS found;
  END IF;
END $$;

-- Chats, as tickets.
CREATE FUNCTION chats_with_words(wanted tsquery, most integer) RETURNS TABLE (chat_id uuid)
LANGUAGE plpgsql STABLE SET gin_fuzzy_search_limit = 2000 SET max_parallel_workers_per_gather = 0
SET enable_seqscan = off AS $$
BEGIN
  RETURN QUERY
  (SELECT c.id FROM tickets_chat c WHERE callcentre_words(c.client_name) @@ wanted LIMIT most)
  UNION
  (SELECT m.chat_id FROM tickets_chatmessage m WHERE callcentre_words(m.body) @@ wanted ORDER BY m.id + 0 DESC LIMIT most)
  LIMIT most;
END $$;
CREATE FUNCTION chats_with_words(wanted tsquery, begun tsquery, most integer) RETURNS TABLE (chat_id uuid)
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN QUERY SELECT found.chat_id FROM chats_with_words(wanted, most) AS found;
  IF NOT FOUND AND begun::text <> wanted::text THEN
    RETURN QUERY SELECT found.chat_id FROM chats_with_words(begun, most) AS found;
  END IF;
END $$;

-- The statuses of a new installation. People may rename, add and order them.
INSERT INTO tickets_ticketstatus (name, kind, "order") VALUES
  ('New', 'new', 10),
  ('Waiting for customer', 'waiting_for_customer', 20),
  ('Postponed', 'postponed', 30),
  ('Merged', 'merged', 40),
  ('In progress', 'in_progress', 50),
  ('Closed', 'closed', 60);

-- The one row of the settings of customers.
INSERT INTO tickets_customersettings (id, creates_unknown) VALUES (1, true);
