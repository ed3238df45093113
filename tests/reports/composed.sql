-- Rows of the ledgers
span AS (
SELECT 'session' AS kind, stretch.agent_id, NULL::bigint AS queue_id, 0::bigint AS detail, NULL::uuid AS chat_id, a, b,
  x.started_at AS since, COALESCE(x.ended_at, GREATEST(%(now)s, x.started_at)) AS until, true AS counts, COALESCE(x.ended_at, 'infinity') AS ended_at
FROM stretch 
JOIN LATERAL (
  SELECT x.* FROM telephony_agentsession x
  WHERE x.agent_id = stretch.agent_id AND x.started_at >= a AND x.started_at < b AND x.ended_at IS NOT NULL
  UNION ALL
  SELECT * FROM (
    SELECT x.* FROM telephony_agentsession x
    WHERE x.agent_id = stretch.agent_id AND x.started_at < a AND x.ended_at > x.started_at
    ORDER BY x.started_at DESC LIMIT 1
  ) last WHERE ended_at > a
) x ON stretch.source = 11 UNION ALL 
SELECT 'session' AS kind, stretch.agent_id, NULL::bigint AS queue_id, 0::bigint AS detail, NULL::uuid AS chat_id, a, b,
  x.started_at AS since, COALESCE(x.ended_at, GREATEST(%(now)s, x.started_at)) AS until, true AS counts, COALESCE(x.ended_at, 'infinity') AS ended_at
FROM stretch 
JOIN telephony_agentsession x ON stretch.source = 12 AND x.agent_id = stretch.agent_id
  AND x.started_at < b AND x.ended_at IS NULL UNION ALL 
SELECT x.kind, stretch.agent_id, NULL, COALESCE(x.pause_id, 0), NULL, a, b, x.started_at, COALESCE(x.ended_at, GREATEST(%(now)s, x.started_at)), true, x.ended_at
FROM stretch 
JOIN LATERAL (
  SELECT x.* FROM telephony_agentstate x
  WHERE x.agent_id = stretch.agent_id AND x.started_at >= a AND x.started_at < b AND x.ended_at IS NOT NULL
  UNION ALL
  SELECT * FROM (
    SELECT x.* FROM telephony_agentstate x
    WHERE x.agent_id = stretch.agent_id AND x.started_at < a AND x.ended_at > x.started_at
    ORDER BY x.started_at DESC LIMIT 1
  ) last WHERE ended_at > a
) x ON stretch.source = 11 WHERE x.kind IN ('free', 'paused', 'wrap_up') UNION ALL 
SELECT x.kind, stretch.agent_id, NULL, COALESCE(x.pause_id, 0), NULL, a, b, x.started_at, COALESCE(x.ended_at, GREATEST(%(now)s, x.started_at)), true, x.ended_at
FROM stretch 
JOIN telephony_agentstate x ON stretch.source = 12 AND x.agent_id = stretch.agent_id
  AND x.started_at < b AND x.ended_at IS NULL WHERE x.kind IN ('free', 'paused', 'wrap_up') UNION ALL 
SELECT part.kind, stretch.agent_id, x.queue_id,
  CASE WHEN x.answered_at IS NULL THEN CASE WHEN x.ended_at IS NULL THEN -2 ELSE -1 END
    ELSE GREATEST(ceil(extract(epoch FROM x.answered_at - x.offered_at)), 0)::bigint END,
  NULL, a, b, part.since, part.until, part.counts, x.ended_at
FROM stretch 
JOIN LATERAL (
  SELECT x.* FROM telephony_offer x
  WHERE x.agent_id = stretch.agent_id AND x.offered_at >= a - interval '6 hours' AND x.offered_at < b AND x.ended_at >= a
  UNION ALL
  SELECT * FROM (
    SELECT x.* FROM telephony_offer x
    WHERE x.agent_id = stretch.agent_id AND x.ended_at - x.offered_at > interval '6 hours' OFFSET 0
  ) long WHERE offered_at < a - interval '6 hours' AND ended_at > a
) x ON stretch.source = 11 JOIN telephony_connection c ON c.id = x.connection_id AND c.direction = 'INBOUND'
CROSS JOIN LATERAL (
  VALUES ('offer', x.offered_at, COALESCE(x.answered_at, COALESCE(x.ended_at, GREATEST(%(now)s, x.offered_at))), true), ('talk', x.answered_at, COALESCE(x.ended_at, GREATEST(%(now)s, x.offered_at)), false),
    ('transfer', x.offered_at, x.offered_at, x.transferred_at IS NOT NULL)
) part(kind, since, until, counts)
WHERE x.outcome <> 'failed' UNION ALL 
SELECT part.kind, stretch.agent_id, x.queue_id,
  CASE WHEN x.answered_at IS NULL THEN CASE WHEN x.ended_at IS NULL THEN -2 ELSE -1 END
    ELSE GREATEST(ceil(extract(epoch FROM x.answered_at - x.offered_at)), 0)::bigint END,
  NULL, a, b, part.since, part.until, part.counts, x.ended_at
FROM stretch 
JOIN telephony_offer x ON stretch.source = 12 AND x.agent_id = stretch.agent_id
  AND x.offered_at < b AND x.ended_at IS NULL JOIN telephony_connection c ON c.id = x.connection_id AND c.direction = 'INBOUND'
CROSS JOIN LATERAL (
  VALUES ('offer', x.offered_at, COALESCE(x.answered_at, COALESCE(x.ended_at, GREATEST(%(now)s, x.offered_at))), true), ('talk', x.answered_at, COALESCE(x.ended_at, GREATEST(%(now)s, x.offered_at)), false),
    ('transfer', x.offered_at, x.offered_at, x.transferred_at IS NOT NULL)
) part(kind, since, until, counts)
WHERE x.outcome <> 'failed' UNION ALL 
SELECT 'call', stretch.agent_id, x.queue_id,
  COALESCE(GREATEST(floor(extract(epoch FROM COALESCE(x.ended_at, GREATEST(%(now)s, x.created_at)) - x.answered_at)), 0), 0)::bigint, NULL, a, b, part.since,
  part.until, part.counts, x.ended_at
FROM stretch 
JOIN LATERAL (
  SELECT x.* FROM telephony_connection x
  WHERE x.agent_id = stretch.agent_id AND x.created_at >= a - interval '6 hours' AND x.created_at < b AND x.ended_at >= a
  UNION ALL
  SELECT * FROM (
    SELECT x.* FROM telephony_connection x
    WHERE x.agent_id = stretch.agent_id AND x.ended_at - x.created_at > interval '6 hours' OFFSET 0
  ) long WHERE created_at < a - interval '6 hours' AND ended_at > a
) x ON stretch.source = 11
CROSS JOIN LATERAL (
  VALUES (x.created_at, x.created_at, true), (x.answered_at, COALESCE(x.ended_at, GREATEST(%(now)s, x.created_at)), false)
) part(since, until, counts)
WHERE x.direction = 'OUTBOUND' AND NOT x.has_talks UNION ALL 
SELECT 'call', stretch.agent_id, x.queue_id,
  COALESCE(GREATEST(floor(extract(epoch FROM COALESCE(x.ended_at, GREATEST(%(now)s, x.created_at)) - x.answered_at)), 0), 0)::bigint, NULL, a, b, part.since,
  part.until, part.counts, x.ended_at
FROM stretch 
JOIN telephony_connection x ON stretch.source = 12 AND x.agent_id = stretch.agent_id
  AND x.created_at < b AND x.state <> 'ended'
CROSS JOIN LATERAL (
  VALUES (x.created_at, x.created_at, true), (x.answered_at, COALESCE(x.ended_at, GREATEST(%(now)s, x.created_at)), false)
) part(since, until, counts)
WHERE x.direction = 'OUTBOUND' AND NOT x.has_talks UNION ALL 
SELECT 'call', stretch.agent_id, x.queue_id,
  COALESCE(GREATEST(floor(extract(epoch FROM COALESCE(x.ended_at, GREATEST(%(now)s, x.counted_at)) - x.started_at)), 0), 0)::bigint, NULL, a, b, part.since,
  part.until, part.counts, x.ended_at
FROM stretch 
JOIN LATERAL (
  SELECT x.* FROM telephony_talk x
  WHERE x.agent_id = stretch.agent_id AND x.counted_at >= a - interval '6 hours' AND x.counted_at < b AND x.ended_at >= a
  UNION ALL
  SELECT * FROM (
    SELECT x.* FROM telephony_talk x
    WHERE x.agent_id = stretch.agent_id AND x.ended_at - x.counted_at > interval '6 hours' OFFSET 0
  ) long WHERE counted_at < a - interval '6 hours' AND ended_at > a
) x ON stretch.source = 11
CROSS JOIN LATERAL (
  VALUES (x.counted_at, x.counted_at, true), (x.started_at, COALESCE(x.ended_at, GREATEST(%(now)s, x.counted_at)), false)
) part(since, until, counts)
 UNION ALL 
SELECT 'call', stretch.agent_id, x.queue_id,
  COALESCE(GREATEST(floor(extract(epoch FROM COALESCE(x.ended_at, GREATEST(%(now)s, x.counted_at)) - x.started_at)), 0), 0)::bigint, NULL, a, b, part.since,
  part.until, part.counts, x.ended_at
FROM stretch 
JOIN telephony_talk x ON stretch.source = 12 AND x.agent_id = stretch.agent_id
  AND x.counted_at < b AND x.ended_at IS NULL
CROSS JOIN LATERAL (
  VALUES (x.counted_at, x.counted_at, true), (x.started_at, COALESCE(x.ended_at, GREATEST(%(now)s, x.counted_at)), false)
) part(since, until, counts)
 UNION ALL 
SELECT 'consultation', stretch.agent_id, NULL, 0, NULL, a, b, x.up_at, COALESCE(x.joined_at, COALESCE(x.ended_at, GREATEST(%(now)s, x.asked_at))), true, x.ended_at
FROM stretch 
JOIN LATERAL (
  SELECT x.* FROM telephony_consultation x
  WHERE x.agent_id = stretch.agent_id AND x.asked_at >= a - interval '6 hours' AND x.asked_at < b AND x.ended_at >= a
  UNION ALL
  SELECT * FROM (
    SELECT x.* FROM telephony_consultation x
    WHERE x.agent_id = stretch.agent_id AND x.ended_at - x.asked_at > interval '6 hours' OFFSET 0
  ) long WHERE asked_at < a - interval '6 hours' AND ended_at > a
) x ON stretch.source = 11 WHERE x.up_at IS NOT NULL UNION ALL 
SELECT 'consultation', stretch.agent_id, NULL, 0, NULL, a, b, x.up_at, COALESCE(x.joined_at, COALESCE(x.ended_at, GREATEST(%(now)s, x.asked_at))), true, x.ended_at
FROM stretch 
JOIN telephony_consultation x ON stretch.source = 12 AND x.agent_id = stretch.agent_id
  AND x.asked_at < b AND x.ended_at IS NULL WHERE x.up_at IS NOT NULL UNION ALL 
SELECT 'chat_closed', stretch.agent_id, x.queue_id, 0, NULL, a, b, x.closed_at, x.closed_at, true, x.closed_at
FROM stretch JOIN tickets_chat x
  ON stretch.source = 11 AND x.agent_id = stretch.agent_id AND x.closed_at >= a AND x.closed_at < b  UNION ALL 
SELECT 'ticket_closed', stretch.agent_id, x.queue_id, 0, NULL, a, b, x.closed_at, x.closed_at, true, x.closed_at
FROM stretch JOIN tickets_ticket x
  ON stretch.source = 11 AND x.closed_by_id = stretch.agent_id AND x.closed_at >= a AND x.closed_at < b  UNION ALL 
SELECT part.kind, stretch.agent_id, part.queue_id, x.ticket_id, NULL, a, b, x.created_at, x.created_at, true, x.created_at
FROM stretch JOIN tickets_message x
  ON stretch.source = 11 AND x.agent_id = stretch.agent_id AND x.created_at >= a AND x.created_at < b AND x.type = 'REPLY'
CROSS JOIN LATERAL (SELECT queue_id FROM tickets_ticket WHERE id = x.ticket_id OFFSET 0) its
CROSS JOIN LATERAL (VALUES ('reply', its.queue_id), ('ticket_answered', NULL)) part(kind, queue_id) UNION ALL 
SELECT 'chat_answered', stretch.agent_id, NULL, 0, x.chat_id, a, b, x.created_at, x.created_at, true, x.created_at
FROM stretch JOIN tickets_chatmessage x
  ON stretch.source = 11 AND x.agent_id = stretch.agent_id AND x.created_at >= a AND x.created_at < b ),
cut AS (
  SELECT span.*, (%(borders)s::timestamptz[])[slot] AS border,
    GREATEST(since, a, (%(borders)s::timestamptz[])[slot]) AS lo,
    LEAST(until, b, (%(borders)s::timestamptz[])[slot + 1]) AS hi
  FROM span CROSS JOIN LATERAL generate_series(
    width_bucket(GREATEST(since, a), %(borders)s::timestamptz[]),
    width_bucket(GREATEST(since, a, LEAST(until, b) - interval '1 microsecond'), %(borders)s::timestamptz[])
  ) AS slot
  WHERE since < b AND (until > a AND until > since OR since >= a AND counts)
),
grain AS (
  SELECT agent_id, border AS started_at, queue AS queue_id, kind, detail, chat_id,
    (count(*) FILTER (WHERE counts AND since = lo))::int AS begun,
    COALESCE(sum(GREATEST(extract(epoch FROM hi - lo), 0)), 0)::int AS seconds, min(since) AS first,
    max(ended_at) AS last
  FROM cut CROSS JOIN LATERAL (VALUES (0::bigint), (queue_id)) q(queue)
  WHERE queue = ANY(%(queues)s::bigint[]) OR %(queues)s::bigint[] IS NULL AND queue IS NOT NULL
  GROUP BY agent_id, border, queue, kind, detail, chat_id
),
running AS (
  SELECT *, (sum(begun) OVER shorter)::int AS begun_until, (sum(seconds) OVER shorter)::int AS seconds_until
  FROM grain WINDOW shorter AS (PARTITION BY agent_id, started_at, queue_id, kind, detail >= 0 ORDER BY detail)
),
counted AS (
  SELECT agent_id, queue_id, started_at, jsonb_object_agg(detail, jsonb_build_array(begun, seconds)) FILTER (WHERE kind = 'paused') AS pauses, (sum(begun) FILTER (WHERE kind = 'offer' AND true))::int AS offered, (sum(begun) FILTER (WHERE kind = 'offer' AND detail >= 0))::int AS answered, (sum(begun) FILTER (WHERE kind = 'offer' AND detail = -1))::int AS not_answered, (sum(begun) FILTER (WHERE kind = 'transfer' AND true))::int AS transferred, (sum(seconds) FILTER (WHERE kind = 'talk'))::int AS talk_seconds, (sum(seconds) FILTER (WHERE kind = 'offer'))::int AS wait_seconds, (sum(begun) FILTER (WHERE kind = 'call' AND true))::int AS calls, (sum(seconds) FILTER (WHERE kind = 'call'))::int AS calls_seconds, (sum(begun) FILTER (WHERE kind = 'call' AND detail > 0))::int AS calls_talked, (sum(begun) FILTER (WHERE kind = 'chat_closed' AND true))::int AS chats_closed, (sum(begun) FILTER (WHERE kind = 'ticket_closed' AND true))::int AS tickets_closed, (sum(begun) FILTER (WHERE kind = 'reply' AND true))::int AS replies, (sum(seconds) FILTER (WHERE kind = 'session'))::int AS login_seconds, (sum(begun) FILTER (WHERE kind = 'free' AND true))::int AS free_count, (sum(seconds) FILTER (WHERE kind = 'free'))::int AS free_seconds, (sum(begun) FILTER (WHERE kind = 'paused' AND true))::int AS pause_count, (sum(seconds) FILTER (WHERE kind = 'paused'))::int AS pause_seconds, (sum(seconds) FILTER (WHERE kind = 'wrap_up'))::int AS wrap_up_seconds, (sum(begun) FILTER (WHERE kind = 'consultation' AND true))::int AS consultations, (sum(seconds) FILTER (WHERE kind = 'consultation'))::int AS consulting_seconds, min(first) FILTER (WHERE kind = 'session') AS first_login_at, max(last) FILTER (WHERE kind = 'session') AS last_logout_at, array_agg(detail ORDER BY detail) FILTER (WHERE kind = 'call' AND true) AS call_lengths, array_agg(begun_until ORDER BY detail) FILTER (WHERE kind = 'call' AND true) AS call_counts, array_agg(seconds_until ORDER BY detail) FILTER (WHERE kind = 'call' AND true) AS call_seconds, array_agg(detail ORDER BY detail) FILTER (WHERE kind = 'offer' AND detail >= 0) AS answer_delays, array_agg(begun_until ORDER BY detail) FILTER (WHERE kind = 'offer' AND detail >= 0) AS answer_counts, array_agg(chat_id ORDER BY detail) FILTER (WHERE kind = 'chat_answered' AND true) AS chat_ids, array_agg(detail ORDER BY detail) FILTER (WHERE kind = 'ticket_answered' AND true) AS ticket_ids
  FROM running GROUP BY agent_id, started_at, queue_id
)

-- Agents with intervals that go on
SELECT agent_id, started_at FROM telephony_agentsession x WHERE agent_id = ANY(%(ids)s::bigint[]) AND x.ended_at IS NULL AND started_at < %(end)s AND GREATEST(%(now)s, started_at) >= %(begin)s UNION ALL SELECT agent_id, started_at FROM telephony_agentstate x WHERE agent_id = ANY(%(ids)s::bigint[]) AND x.ended_at IS NULL AND started_at < %(end)s AND GREATEST(%(now)s, started_at) >= %(begin)s UNION ALL SELECT agent_id, offered_at FROM telephony_offer x WHERE agent_id = ANY(%(ids)s::bigint[]) AND x.ended_at IS NULL AND offered_at < %(end)s AND GREATEST(%(now)s, offered_at) >= %(begin)s UNION ALL SELECT agent_id, created_at FROM telephony_connection x WHERE agent_id = ANY(%(ids)s::bigint[]) AND x.state <> 'ended' AND created_at < %(end)s AND GREATEST(%(now)s, created_at) >= %(begin)s UNION ALL SELECT agent_id, counted_at FROM telephony_talk x WHERE agent_id = ANY(%(ids)s::bigint[]) AND x.ended_at IS NULL AND counted_at < %(end)s AND GREATEST(%(now)s, counted_at) >= %(begin)s UNION ALL SELECT agent_id, asked_at FROM telephony_consultation x WHERE agent_id = ANY(%(ids)s::bigint[]) AND x.ended_at IS NULL AND asked_at < %(end)s AND GREATEST(%(now)s, asked_at) >= %(begin)s

-- A page of rollups
WITH 
stretch AS (
  SELECT source, agent_id, a, b
  FROM unnest(%(sources)s::int[], %(begins)s::timestamptz[], %(ends)s::timestamptz[], %(agents)s::text[])
    AS t(source, a, b, ids) CROSS JOIN unnest(t.ids::bigint[]) AS agent_id
), 
page AS (
  SELECT place, agent_id, to_char(started_at AT TIME ZONE %(zone)s, %(label)s) COLLATE "C" AS period, started_at AS first, started_at AS last FROM (
    SELECT place, agent.id AS agent_id, started_at
    FROM unnest(%(order)s::bigint[]) WITH ORDINALITY AS agent(id, place) CROSS JOIN LATERAL (
      SELECT started_at FROM reports_sums
      WHERE agent_id = agent.id AND level = %(level)s AND started_at >= %(begin)s AND started_at < %(end)s
        AND queue_id = 0
      ORDER BY started_at
    ) r LIMIT %(limit)s::bigint OFFSET %(offset)s::bigint
  ) key
) 
SELECT agent_id, period, (jsonb_agg(r.pauses) FILTER (WHERE r.pauses IS NOT NULL))::text, COALESCE(sum(r.offered) FILTER (WHERE r.is_wanted), 0), COALESCE(sum(r.answered) FILTER (WHERE r.is_wanted), 0), COALESCE(sum(r.not_answered) FILTER (WHERE r.is_wanted), 0), COALESCE(sum(r.transferred) FILTER (WHERE r.is_wanted), 0), COALESCE(sum(r.answer_counts[width_bucket(%(within)s::int, r.answer_delays)]) FILTER (WHERE r.is_wanted), 0), COALESCE(sum(r.talk_seconds) FILTER (WHERE r.is_wanted), 0), COALESCE(sum(r.wait_seconds) FILTER (WHERE r.is_wanted), 0), COALESCE(sum(r.calls) FILTER (WHERE r.is_wanted), 0), COALESCE(sum(r.calls_seconds) FILTER (WHERE r.is_wanted), 0), COALESCE(sum(r.call_counts[width_bucket(%(threshold)s::int, r.call_lengths)]) FILTER (WHERE r.is_wanted), 0), COALESCE(sum(r.call_seconds[width_bucket(%(threshold)s::int, r.call_lengths)]) FILTER (WHERE r.is_wanted), 0), COALESCE(sum(r.calls_talked) FILTER (WHERE r.is_wanted), 0), COALESCE(sum(r.chats_closed) FILTER (WHERE r.is_wanted), 0), COALESCE(sum(r.tickets_closed) FILTER (WHERE r.is_wanted), 0), COALESCE(sum(r.replies) FILTER (WHERE r.is_wanted), 0), COALESCE(sum(r.login_seconds), 0), COALESCE(sum(r.free_count), 0), COALESCE(sum(r.free_seconds), 0), COALESCE(sum(r.pause_count), 0), COALESCE(sum(r.pause_seconds), 0), COALESCE(sum(r.wrap_up_seconds), 0), COALESCE(sum(r.consultations), 0), COALESCE(sum(r.consulting_seconds), 0), date_part('epoch', min(r.first_login_at)), date_part('epoch', max(r.last_logout_at)), COALESCE(sum(cardinality(r.chats)), 0), COALESCE(sum(cardinality(r.tickets)), 0), (CASE WHEN count(r.chats) > 1 THEN json_agg(r.chats) FILTER (WHERE r.chats IS NOT NULL) END)::text, (CASE WHEN count(r.tickets) > 1 THEN json_agg(r.tickets) FILTER (WHERE r.tickets IS NOT NULL) END)::text
FROM (
  SELECT *, to_char(started_at AT TIME ZONE %(zone)s, %(label)s) COLLATE "C" AS period, (queue_id <> 0) = %(is_narrowed)s AS is_wanted,
    CASE WHEN NOT %(is_narrowed)s THEN chat_ids
    ELSE (SELECT array_agg(id) FROM tickets_chat WHERE id = ANY(chat_ids) AND queue_id = ANY(%(queues)s::bigint[])) END AS chats,
    CASE WHEN NOT %(is_narrowed)s THEN ticket_ids
    ELSE (SELECT array_agg(id) FROM tickets_ticket WHERE id = ANY(ticket_ids) AND queue_id = ANY(%(queues)s::bigint[])) END AS tickets
  FROM (
SELECT place, first_period, last_period, r.agent_id, r.started_at, r.queue_id, r.pauses, r.offered, r.answered, r.not_answered, r.transferred, r.talk_seconds, r.wait_seconds, r.calls, r.calls_seconds, r.calls_talked, r.chats_closed, r.tickets_closed, r.replies, r.login_seconds, r.free_count, r.free_seconds, r.pause_count, r.pause_seconds, r.wrap_up_seconds, r.consultations, r.consulting_seconds, r.first_login_at, r.last_logout_at, r.call_lengths, r.call_counts, r.call_seconds, r.answer_delays, r.answer_counts, r.chat_ids, r.ticket_ids
FROM (
  SELECT agent_id, place, min(first) AS first, max(last) AS last, min(period) AS first_period,
    max(period) AS last_period
  FROM page GROUP BY agent_id, place
) shown JOIN stretch USING (agent_id) JOIN reports_sums r ON r.level = stretch.source AND r.agent_id = stretch.agent_id
  AND r.queue_id = ANY(%(queues)s::bigint[]) AND r.started_at >= a AND r.started_at < b
WHERE r.started_at >= first AND r.started_at <= last AND (NOT %(is_narrowed)s OR r.queue_id <> 0 OR r.login_seconds IS NOT NULL
  OR r.free_seconds IS NOT NULL OR r.wrap_up_seconds IS NOT NULL OR r.pause_seconds IS NOT NULL
  OR r.consultations IS NOT NULL
  OR EXISTS (SELECT FROM tickets_chat WHERE id = ANY(r.chat_ids) AND queue_id = ANY(%(queues)s::bigint[]))
  OR EXISTS (SELECT FROM tickets_ticket WHERE id = ANY(r.ticket_ids) AND queue_id = ANY(%(queues)s::bigint[])))) line
) r
WHERE period BETWEEN first_period AND last_period GROUP BY place, agent_id, period ORDER BY place, period

-- A page of rollups and ledgers
WITH 
stretch AS (
  SELECT source, agent_id, a, b
  FROM unnest(%(sources)s::int[], %(begins)s::timestamptz[], %(ends)s::timestamptz[], %(agents)s::text[])
    AS t(source, a, b, ids) CROSS JOIN unnest(t.ids::bigint[]) AS agent_id
), …, 
page AS (
  SELECT place, agent_id, to_char(started_at AT TIME ZONE %(zone)s, %(label)s) COLLATE "C" AS period, min(started_at) AS first, max(started_at) AS last
  FROM (SELECT r.agent_id, started_at FROM stretch JOIN reports_sums r ON r.level = stretch.source AND r.agent_id = stretch.agent_id
  AND r.queue_id = ANY(%(queues)s::bigint[]) AND r.started_at >= a AND r.started_at < b WHERE (NOT %(is_narrowed)s OR r.queue_id <> 0 OR r.login_seconds IS NOT NULL
  OR r.free_seconds IS NOT NULL OR r.wrap_up_seconds IS NOT NULL OR r.pause_seconds IS NOT NULL
  OR r.consultations IS NOT NULL
  OR EXISTS (SELECT FROM tickets_chat WHERE id = ANY(r.chat_ids) AND queue_id = ANY(%(queues)s::bigint[]))
  OR EXISTS (SELECT FROM tickets_ticket WHERE id = ANY(r.ticket_ids) AND queue_id = ANY(%(queues)s::bigint[]))) UNION ALL SELECT agent_id, started_at FROM counted r WHERE (NOT %(is_narrowed)s OR r.queue_id <> 0 OR r.login_seconds IS NOT NULL
  OR r.free_seconds IS NOT NULL OR r.wrap_up_seconds IS NOT NULL OR r.pause_seconds IS NOT NULL
  OR r.consultations IS NOT NULL
  OR EXISTS (SELECT FROM tickets_chat WHERE id = ANY(r.chat_ids) AND queue_id = ANY(%(queues)s::bigint[]))
  OR EXISTS (SELECT FROM tickets_ticket WHERE id = ANY(r.ticket_ids) AND queue_id = ANY(%(queues)s::bigint[])))) present JOIN unnest(%(order)s::bigint[]) WITH ORDINALITY AS agent(id, place) ON agent.id = agent_id
  GROUP BY place, agent_id, period ORDER BY place, period LIMIT %(limit)s::bigint OFFSET %(offset)s::bigint
) 
SELECT agent_id, period, (jsonb_agg(r.pauses) FILTER (WHERE r.pauses IS NOT NULL))::text, COALESCE(sum(r.offered) FILTER (WHERE r.is_wanted), 0), COALESCE(sum(r.answered) FILTER (WHERE r.is_wanted), 0), COALESCE(sum(r.not_answered) FILTER (WHERE r.is_wanted), 0), COALESCE(sum(r.transferred) FILTER (WHERE r.is_wanted), 0), COALESCE(sum(r.answer_counts[width_bucket(%(within)s::int, r.answer_delays)]) FILTER (WHERE r.is_wanted), 0), COALESCE(sum(r.talk_seconds) FILTER (WHERE r.is_wanted), 0), COALESCE(sum(r.wait_seconds) FILTER (WHERE r.is_wanted), 0), COALESCE(sum(r.calls) FILTER (WHERE r.is_wanted), 0), COALESCE(sum(r.calls_seconds) FILTER (WHERE r.is_wanted), 0), COALESCE(sum(r.call_counts[width_bucket(%(threshold)s::int, r.call_lengths)]) FILTER (WHERE r.is_wanted), 0), COALESCE(sum(r.call_seconds[width_bucket(%(threshold)s::int, r.call_lengths)]) FILTER (WHERE r.is_wanted), 0), COALESCE(sum(r.calls_talked) FILTER (WHERE r.is_wanted), 0), COALESCE(sum(r.chats_closed) FILTER (WHERE r.is_wanted), 0), COALESCE(sum(r.tickets_closed) FILTER (WHERE r.is_wanted), 0), COALESCE(sum(r.replies) FILTER (WHERE r.is_wanted), 0), COALESCE(sum(r.login_seconds), 0), COALESCE(sum(r.free_count), 0), COALESCE(sum(r.free_seconds), 0), COALESCE(sum(r.pause_count), 0), COALESCE(sum(r.pause_seconds), 0), COALESCE(sum(r.wrap_up_seconds), 0), COALESCE(sum(r.consultations), 0), COALESCE(sum(r.consulting_seconds), 0), date_part('epoch', min(r.first_login_at)), date_part('epoch', max(r.last_logout_at)), COALESCE(sum(cardinality(r.chats)), 0), COALESCE(sum(cardinality(r.tickets)), 0), (CASE WHEN count(r.chats) > 1 THEN json_agg(r.chats) FILTER (WHERE r.chats IS NOT NULL) END)::text, (CASE WHEN count(r.tickets) > 1 THEN json_agg(r.tickets) FILTER (WHERE r.tickets IS NOT NULL) END)::text
FROM (
  SELECT *, to_char(started_at AT TIME ZONE %(zone)s, %(label)s) COLLATE "C" AS period, (queue_id <> 0) = %(is_narrowed)s AS is_wanted,
    CASE WHEN NOT %(is_narrowed)s THEN chat_ids
    ELSE (SELECT array_agg(id) FROM tickets_chat WHERE id = ANY(chat_ids) AND queue_id = ANY(%(queues)s::bigint[])) END AS chats,
    CASE WHEN NOT %(is_narrowed)s THEN ticket_ids
    ELSE (SELECT array_agg(id) FROM tickets_ticket WHERE id = ANY(ticket_ids) AND queue_id = ANY(%(queues)s::bigint[])) END AS tickets
  FROM (
SELECT place, first_period, last_period, r.agent_id, r.started_at, r.queue_id, r.pauses, r.offered, r.answered, r.not_answered, r.transferred, r.talk_seconds, r.wait_seconds, r.calls, r.calls_seconds, r.calls_talked, r.chats_closed, r.tickets_closed, r.replies, r.login_seconds, r.free_count, r.free_seconds, r.pause_count, r.pause_seconds, r.wrap_up_seconds, r.consultations, r.consulting_seconds, r.first_login_at, r.last_logout_at, r.call_lengths, r.call_counts, r.call_seconds, r.answer_delays, r.answer_counts, r.chat_ids, r.ticket_ids
FROM (
  SELECT agent_id, place, min(first) AS first, max(last) AS last, min(period) AS first_period,
    max(period) AS last_period
  FROM page GROUP BY agent_id, place
) shown JOIN stretch USING (agent_id) JOIN reports_sums r ON r.level = stretch.source AND r.agent_id = stretch.agent_id
  AND r.queue_id = ANY(%(queues)s::bigint[]) AND r.started_at >= a AND r.started_at < b
WHERE r.started_at >= first AND r.started_at <= last AND (NOT %(is_narrowed)s OR r.queue_id <> 0 OR r.login_seconds IS NOT NULL
  OR r.free_seconds IS NOT NULL OR r.wrap_up_seconds IS NOT NULL OR r.pause_seconds IS NOT NULL
  OR r.consultations IS NOT NULL
  OR EXISTS (SELECT FROM tickets_chat WHERE id = ANY(r.chat_ids) AND queue_id = ANY(%(queues)s::bigint[]))
  OR EXISTS (SELECT FROM tickets_ticket WHERE id = ANY(r.ticket_ids) AND queue_id = ANY(%(queues)s::bigint[]))) UNION ALL 
SELECT place, first_period, last_period, agent_id, started_at, queue_id, r.pauses, r.offered, r.answered, r.not_answered, r.transferred, r.talk_seconds, r.wait_seconds, r.calls, r.calls_seconds, r.calls_talked, r.chats_closed, r.tickets_closed, r.replies, r.login_seconds, r.free_count, r.free_seconds, r.pause_count, r.pause_seconds, r.wrap_up_seconds, r.consultations, r.consulting_seconds, r.first_login_at, r.last_logout_at, r.call_lengths, r.call_counts, r.call_seconds, r.answer_delays, r.answer_counts, r.chat_ids, r.ticket_ids
FROM (
  SELECT agent_id, place, min(first) AS first, max(last) AS last, min(period) AS first_period,
    max(period) AS last_period
  FROM page GROUP BY agent_id, place
) shown JOIN counted r USING (agent_id) WHERE (NOT %(is_narrowed)s OR r.queue_id <> 0 OR r.login_seconds IS NOT NULL
  OR r.free_seconds IS NOT NULL OR r.wrap_up_seconds IS NOT NULL OR r.pause_seconds IS NOT NULL
  OR r.consultations IS NOT NULL
  OR EXISTS (SELECT FROM tickets_chat WHERE id = ANY(r.chat_ids) AND queue_id = ANY(%(queues)s::bigint[]))
  OR EXISTS (SELECT FROM tickets_ticket WHERE id = ANY(r.ticket_ids) AND queue_id = ANY(%(queues)s::bigint[])))) line
) r
WHERE period BETWEEN first_period AND last_period GROUP BY place, agent_id, period ORDER BY place, period
