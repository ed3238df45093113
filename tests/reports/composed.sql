-- Grains of the ledgers
stretch AS (
  SELECT source, agent_id, a, b, key
  FROM unnest(
    %(sources)s::int[], %(begins)s::timestamptz[], %(ends)s::timestamptz[], %(starts)s::timestamptz[],
    %(agents)s::text[]
  ) AS t(source, a, b, key, ids) CROSS JOIN unnest(t.ids::bigint[]) AS agent_id
),
span AS (
SELECT 'session' AS kind, stretch.agent_id, NULL::bigint AS queue_id, 0::bigint AS detail, a, b, x.started_at AS since,
  COALESCE(x.ended_at, GREATEST(%(now)s, x.started_at)) AS until, true AS counts, COALESCE(x.ended_at, 'infinity') AS ended_at
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
) x ON stretch.source = 11
UNION ALL

SELECT x.kind, stretch.agent_id, NULL, COALESCE(x.pause_id, 0), a, b, x.started_at,
  COALESCE(x.ended_at, GREATEST(%(now)s, x.started_at)), true, x.ended_at
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
) x ON stretch.source = 11 WHERE x.kind IN ('free', 'paused', 'wrap_up')
UNION ALL

SELECT part.kind, stretch.agent_id, x.queue_id,
  (x.answered_at IS NOT NULL)::int + 2 * (x.transferred_at IS NOT NULL)::int
    + 4 * (x.answered_at IS NULL AND x.ended_at IS NOT NULL)::int,
  a, b, part.since, part.until, part.kind = 'offer', x.ended_at
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
  VALUES ('offer', x.offered_at, COALESCE(x.answered_at, COALESCE(x.ended_at, GREATEST(%(now)s, x.offered_at)))),
    ('talk', x.answered_at, COALESCE(x.ended_at, GREATEST(%(now)s, x.offered_at)))
) part(kind, since, until)
WHERE x.outcome <> 'failed'
UNION ALL

SELECT 'call', stretch.agent_id, x.queue_id, COALESCE(GREATEST(floor(extract(epoch FROM COALESCE(x.ended_at, GREATEST(%(now)s, x.created_at)) - x.answered_at)), 0), 0)::bigint, a, b, part.since, part.until, part.counts,
  x.ended_at
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
WHERE x.direction = 'OUTBOUND' AND NOT x.has_talks
UNION ALL

SELECT 'call', stretch.agent_id, x.queue_id, COALESCE(GREATEST(floor(extract(epoch FROM COALESCE(x.ended_at, GREATEST(%(now)s, x.counted_at)) - x.started_at)), 0), 0)::bigint, a, b, part.since, part.until, part.counts,
  x.ended_at
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

SELECT 'session' AS kind, stretch.agent_id, NULL::bigint AS queue_id, 0::bigint AS detail, a, b, x.started_at AS since,
  COALESCE(x.ended_at, GREATEST(%(now)s, x.started_at)) AS until, true AS counts, COALESCE(x.ended_at, 'infinity') AS ended_at
FROM stretch 
JOIN telephony_agentsession x ON stretch.source = 12 AND x.agent_id = stretch.agent_id
  AND x.started_at < b AND x.ended_at IS NULL
UNION ALL

SELECT x.kind, stretch.agent_id, NULL, COALESCE(x.pause_id, 0), a, b, x.started_at,
  COALESCE(x.ended_at, GREATEST(%(now)s, x.started_at)), true, x.ended_at
FROM stretch 
JOIN telephony_agentstate x ON stretch.source = 12 AND x.agent_id = stretch.agent_id
  AND x.started_at < b AND x.ended_at IS NULL WHERE x.kind IN ('free', 'paused', 'wrap_up')
UNION ALL

SELECT part.kind, stretch.agent_id, x.queue_id,
  (x.answered_at IS NOT NULL)::int + 2 * (x.transferred_at IS NOT NULL)::int
    + 4 * (x.answered_at IS NULL AND x.ended_at IS NOT NULL)::int,
  a, b, part.since, part.until, part.kind = 'offer', x.ended_at
FROM stretch 
JOIN telephony_offer x ON stretch.source = 12 AND x.agent_id = stretch.agent_id
  AND x.offered_at < b AND x.ended_at IS NULL JOIN telephony_connection c ON c.id = x.connection_id AND c.direction = 'INBOUND'
CROSS JOIN LATERAL (
  VALUES ('offer', x.offered_at, COALESCE(x.answered_at, COALESCE(x.ended_at, GREATEST(%(now)s, x.offered_at)))),
    ('talk', x.answered_at, COALESCE(x.ended_at, GREATEST(%(now)s, x.offered_at)))
) part(kind, since, until)
WHERE x.outcome <> 'failed'
UNION ALL

SELECT 'call', stretch.agent_id, x.queue_id, COALESCE(GREATEST(floor(extract(epoch FROM COALESCE(x.ended_at, GREATEST(%(now)s, x.created_at)) - x.answered_at)), 0), 0)::bigint, a, b, part.since, part.until, part.counts,
  x.ended_at
FROM stretch 
JOIN telephony_connection x ON stretch.source = 12 AND x.agent_id = stretch.agent_id
  AND x.created_at < b AND x.state <> 'ended'
CROSS JOIN LATERAL (
  VALUES (x.created_at, x.created_at, true), (x.answered_at, COALESCE(x.ended_at, GREATEST(%(now)s, x.created_at)), false)
) part(since, until, counts)
WHERE x.direction = 'OUTBOUND' AND NOT x.has_talks
UNION ALL

SELECT 'call', stretch.agent_id, x.queue_id, COALESCE(GREATEST(floor(extract(epoch FROM COALESCE(x.ended_at, GREATEST(%(now)s, x.counted_at)) - x.started_at)), 0), 0)::bigint, a, b, part.since, part.until, part.counts,
  x.ended_at
FROM stretch 
JOIN telephony_talk x ON stretch.source = 12 AND x.agent_id = stretch.agent_id
  AND x.counted_at < b AND x.ended_at IS NULL
CROSS JOIN LATERAL (
  VALUES (x.counted_at, x.counted_at, true), (x.started_at, COALESCE(x.ended_at, GREATEST(%(now)s, x.counted_at)), false)
) part(since, until, counts)

UNION ALL

SELECT 'chat_closed', stretch.agent_id, x.queue_id, 0, a, b, x.closed_at, x.closed_at, true, x.closed_at
FROM stretch JOIN tickets_chat x
  ON stretch.source = 11 AND x.agent_id = stretch.agent_id AND x.closed_at >= a AND x.closed_at < b
UNION ALL

SELECT 'ticket_closed', stretch.agent_id, x.queue_id, 0, a, b, x.closed_at, x.closed_at, true, x.closed_at
FROM stretch JOIN tickets_ticket x
  ON stretch.source = 11 AND x.closed_by_id = stretch.agent_id AND x.closed_at >= a AND x.closed_at < b
UNION ALL

SELECT 'reply', stretch.agent_id, its.queue_id, 0, a, b, x.created_at, x.created_at, true, x.created_at
FROM stretch JOIN tickets_message x
  ON stretch.source = 11 AND x.agent_id = stretch.agent_id AND x.type = 'REPLY'
    AND x.created_at >= a AND x.created_at < b CROSS JOIN LATERAL (SELECT queue_id FROM tickets_ticket WHERE id = x.ticket_id OFFSET 0) its),
cut AS (
  SELECT span.*, (%(keys)s::timestamptz[])[slot] AS key, GREATEST(since, a, (%(borders)s::timestamptz[])[slot]) AS lo,
    LEAST(until, b, (%(borders)s::timestamptz[])[slot + 1]) AS hi
  FROM span CROSS JOIN LATERAL generate_series(
    width_bucket(GREATEST(since, a), %(borders)s::timestamptz[]),
    width_bucket(GREATEST(since, a, LEAST(until, b) - interval '1 microsecond'), %(borders)s::timestamptz[])
  ) AS slot
  WHERE since < b AND (until > a AND until > since OR since >= a AND counts) AND (%(queues)s::bigint[] IS NULL OR queue_id = ANY(%(queues)s::bigint[]) OR kind IN ('session', 'free', 'paused', 'wrap_up'))
),
subject AS (
  SELECT DISTINCT kind, agent_id, queue_id, subject, (%(keys)s::timestamptz[])[width_bucket(at, %(borders)s::timestamptz[])] AS key FROM (
SELECT 'chat_answered' AS kind, stretch.agent_id, its.queue_id AS queue_id, x.chat_id::text AS subject, x.created_at AS at
FROM stretch JOIN tickets_chatmessage x
  ON stretch.source = 13 AND x.agent_id = stretch.agent_id AND x.created_at >= a AND x.created_at < b
CROSS JOIN LATERAL (SELECT queue_id FROM tickets_chat WHERE id = x.chat_id OFFSET 0) its
UNION ALL
SELECT 'ticket_answered', stretch.agent_id, its.queue_id, x.ticket_id::text, x.created_at
FROM stretch JOIN tickets_message x
  ON stretch.source = 13 AND x.agent_id = stretch.agent_id AND x.type = 'REPLY'
    AND x.created_at >= a AND x.created_at < b CROSS JOIN LATERAL (SELECT queue_id FROM tickets_ticket WHERE id = x.ticket_id OFFSET 0) its) x WHERE %(queues)s::bigint[] IS NULL OR queue_id = ANY(%(queues)s::bigint[])
),
grain AS (
  SELECT agent_id, key, queue, kind, detail, count(*) FILTER (WHERE counts AND since = lo) AS begun,
    COALESCE(sum(GREATEST(extract(epoch FROM hi - lo), 0)), 0)::bigint AS seconds, min(since) AS first,
    max(ended_at) AS last
  FROM cut CROSS JOIN LATERAL (VALUES (0::bigint)) q(queue) WHERE queue IS NOT NULL
  GROUP BY agent_id, key, queue, kind, detail
  UNION ALL
  SELECT agent_id, key, queue, kind, 0, count(*), 0, NULL, NULL
  FROM subject CROSS JOIN LATERAL (VALUES (0::bigint)) q(queue) WHERE queue IS NOT NULL
  GROUP BY agent_id, key, queue, kind
)

-- Sums of grains
SELECT agent_id, key, COALESCE(sum(begun) FILTER (WHERE kind = 'offer'), 0)::bigint AS offered, COALESCE(sum(begun) FILTER (WHERE kind = 'offer' AND detail & 1 > 0), 0)::bigint AS answered, COALESCE(sum(begun) FILTER (WHERE kind = 'offer' AND detail & 4 > 0), 0)::bigint AS not_answered, COALESCE(sum(begun) FILTER (WHERE kind = 'offer' AND detail & 2 > 0), 0)::bigint AS transferred, COALESCE(sum(seconds) FILTER (WHERE kind = 'talk'), 0)::bigint AS talk_seconds, COALESCE(sum(seconds) FILTER (WHERE kind = 'offer'), 0)::bigint AS wait_seconds, COALESCE(sum(begun) FILTER (WHERE kind = 'call'), 0)::bigint AS calls, COALESCE(sum(seconds) FILTER (WHERE kind = 'call'), 0)::bigint AS calls_seconds, COALESCE(sum(begun) FILTER (WHERE kind = 'call' AND detail <= %(threshold)s), 0)::bigint AS calls_below, COALESCE(sum(seconds) FILTER (WHERE kind = 'call' AND detail <= %(threshold)s), 0)::bigint AS calls_below_seconds, COALESCE(sum(begun) FILTER (WHERE kind = 'call' AND detail > 0), 0)::bigint AS calls_talked, COALESCE(sum(begun) FILTER (WHERE kind = 'chat_closed'), 0)::bigint AS chats_closed, COALESCE(sum(begun) FILTER (WHERE kind = 'chat_answered'), 0)::bigint AS chats_answered, COALESCE(sum(begun) FILTER (WHERE kind = 'ticket_closed'), 0)::bigint AS tickets_closed, COALESCE(sum(begun) FILTER (WHERE kind = 'ticket_answered'), 0)::bigint AS tickets_answered, COALESCE(sum(begun) FILTER (WHERE kind = 'reply'), 0)::bigint AS replies, COALESCE(sum(begun) FILTER (WHERE kind = 'in_time'), 0)::bigint AS in_time, COALESCE(sum(seconds) FILTER (WHERE kind = 'session'), 0)::bigint AS login_seconds, COALESCE(sum(begun) FILTER (WHERE kind = 'free'), 0)::bigint AS free_count, COALESCE(sum(seconds) FILTER (WHERE kind = 'free'), 0)::bigint AS free_seconds, COALESCE(sum(seconds) FILTER (WHERE kind = 'wrap_up'), 0)::bigint AS wrap_up_seconds, min(first) FILTER (WHERE kind = 'session') AS first_login_at, max(last) FILTER (WHERE kind = 'session') AS last_logout_at FROM grain GROUP BY agent_id, key

-- Sums of rollups
SELECT agent_id, key, COALESCE(sum(r.offered) FILTER (WHERE true), 0) AS offered, COALESCE(sum(r.answered) FILTER (WHERE true), 0) AS answered, COALESCE(sum(r.offered - r.answered) FILTER (WHERE true), 0) AS not_answered, COALESCE(sum(r.transferred) FILTER (WHERE true), 0) AS transferred, COALESCE(sum(r.talk_seconds) FILTER (WHERE true), 0) AS talk_seconds, COALESCE(sum(r.wait_seconds) FILTER (WHERE true), 0) AS wait_seconds, COALESCE(sum(r.talked_count + r.silent_count) FILTER (WHERE true), 0) AS calls, COALESCE(sum(r.talked_seconds) FILTER (WHERE true), 0) AS calls_seconds, COALESCE(sum(COALESCE(r.call_counts[width_bucket(%(threshold)s::int, r.call_lengths)], 0)) FILTER (WHERE true), 0) AS calls_below, COALESCE(sum(COALESCE(r.call_seconds[width_bucket(%(threshold)s::int, r.call_lengths)], 0)) FILTER (WHERE true), 0) AS calls_below_seconds, COALESCE(sum(r.talked_count) FILTER (WHERE true), 0) AS calls_talked, COALESCE(sum(r.chats_closed) FILTER (WHERE true), 0) AS chats_closed, COALESCE(sum(r.chats_answered) FILTER (WHERE r.is_period), 0) AS chats_answered, COALESCE(sum(r.tickets_closed) FILTER (WHERE true), 0) AS tickets_closed, COALESCE(sum(r.tickets_answered) FILTER (WHERE r.is_period), 0) AS tickets_answered, COALESCE(sum(r.replies) FILTER (WHERE true), 0) AS replies, COALESCE(sum(0) FILTER (WHERE r.is_period), 0) AS in_time, COALESCE(sum(r.login_seconds) FILTER (WHERE true), 0) AS login_seconds, COALESCE(sum(r.free_count) FILTER (WHERE true), 0) AS free_count, COALESCE(sum(r.free_seconds) FILTER (WHERE true), 0) AS free_seconds, COALESCE(sum(r.wrap_up_seconds) FILTER (WHERE true), 0) AS wrap_up_seconds, min(r.first_login_at) FILTER (WHERE true) AS first_login_at, max(r.last_logout_at) FILTER (WHERE true) AS last_logout_at FROM rollup r GROUP BY agent_id, key

-- Sums of rollups of some queues
SELECT agent_id, key, COALESCE(sum(r.offered) FILTER (WHERE true AND r.queue_id <> 0), 0) AS offered, COALESCE(sum(r.answered) FILTER (WHERE true AND r.queue_id <> 0), 0) AS answered, COALESCE(sum(r.offered - r.answered) FILTER (WHERE true AND r.queue_id <> 0), 0) AS not_answered, COALESCE(sum(r.transferred) FILTER (WHERE true AND r.queue_id <> 0), 0) AS transferred, COALESCE(sum(r.talk_seconds) FILTER (WHERE true AND r.queue_id <> 0), 0) AS talk_seconds, COALESCE(sum(r.wait_seconds) FILTER (WHERE true AND r.queue_id <> 0), 0) AS wait_seconds, COALESCE(sum(r.talked_count + r.silent_count) FILTER (WHERE true AND r.queue_id <> 0), 0) AS calls, COALESCE(sum(r.talked_seconds) FILTER (WHERE true AND r.queue_id <> 0), 0) AS calls_seconds, COALESCE(sum(COALESCE(r.call_counts[width_bucket(%(threshold)s::int, r.call_lengths)], 0)) FILTER (WHERE true AND r.queue_id <> 0), 0) AS calls_below, COALESCE(sum(COALESCE(r.call_seconds[width_bucket(%(threshold)s::int, r.call_lengths)], 0)) FILTER (WHERE true AND r.queue_id <> 0), 0) AS calls_below_seconds, COALESCE(sum(r.talked_count) FILTER (WHERE true AND r.queue_id <> 0), 0) AS calls_talked, COALESCE(sum(r.chats_closed) FILTER (WHERE true AND r.queue_id <> 0), 0) AS chats_closed, COALESCE(sum(r.chats_answered) FILTER (WHERE r.is_period AND r.queue_id <> 0), 0) AS chats_answered, COALESCE(sum(r.tickets_closed) FILTER (WHERE true AND r.queue_id <> 0), 0) AS tickets_closed, COALESCE(sum(r.tickets_answered) FILTER (WHERE r.is_period AND r.queue_id <> 0), 0) AS tickets_answered, COALESCE(sum(r.replies) FILTER (WHERE true AND r.queue_id <> 0), 0) AS replies, COALESCE(sum(0) FILTER (WHERE r.is_period AND r.queue_id <> 0), 0) AS in_time, COALESCE(sum(r.login_seconds) FILTER (WHERE true AND r.queue_id = 0), 0) AS login_seconds, COALESCE(sum(r.free_count) FILTER (WHERE true AND r.queue_id = 0), 0) AS free_count, COALESCE(sum(r.free_seconds) FILTER (WHERE true AND r.queue_id = 0), 0) AS free_seconds, COALESCE(sum(r.wrap_up_seconds) FILTER (WHERE true AND r.queue_id = 0), 0) AS wrap_up_seconds, min(r.first_login_at) FILTER (WHERE true AND r.queue_id = 0) AS first_login_at, max(r.last_logout_at) FILTER (WHERE true AND r.queue_id = 0) AS last_logout_at FROM rollup r GROUP BY agent_id, key

-- Sums of a page
SELECT * FROM (
  SELECT agent_id, date_part('epoch', key)::bigint AS key, sum(offered)::bigint, sum(answered)::bigint, sum(not_answered)::bigint, sum(transferred)::bigint, sum(talk_seconds)::bigint, sum(wait_seconds)::bigint, sum(calls)::bigint, sum(calls_seconds)::bigint, sum(calls_below)::bigint, sum(calls_below_seconds)::bigint, sum(calls_talked)::bigint, sum(chats_closed)::bigint, sum(chats_answered)::bigint, sum(tickets_closed)::bigint, sum(tickets_answered)::bigint, sum(replies)::bigint, sum(in_time)::bigint, sum(login_seconds)::bigint, sum(free_count)::bigint, sum(free_seconds)::bigint, sum(wrap_up_seconds)::bigint, date_part('epoch', min(first_login_at)), date_part('epoch', max(last_logout_at)) FROM ({sums}) part GROUP BY agent_id, part.key
) sums LEFT JOIN (
  SELECT agent_id, date_part('epoch', key)::bigint AS key, array_agg(id), array_agg(begun), array_agg(seconds) FROM (
    SELECT agent_id, key, id, sum(begun)::bigint AS begun, sum(seconds)::bigint AS seconds FROM ({pauses}) pause
    GROUP BY agent_id, key, id
  ) pause GROUP BY agent_id, pause.key
) pauses USING (agent_id, key)
