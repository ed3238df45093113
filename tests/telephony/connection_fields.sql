-- A page of connections
SELECT
  c.created_at AS "date",
  c.src AS "src",
  c.dst AS "dst",
  c.disposition AS "disposition",
  GREATEST(floor(extract(epoch FROM c.ended_at - c.created_at)), 0)::integer AS "duration",
  GREATEST(floor(extract(epoch FROM c.ended_at - c.answered_at)), 0)::integer AS "billsec",
  COALESCE(a.login, '') AS "user_login",
  floor(extract(epoch FROM c.created_at))::bigint || '.' || c.id AS "connection_id",
  c.direction AS "type",
  c.queue_id AS "queue_id",
  t.topic_id AS "topic_id",
  c.customer_id AS "customer_id",
  (
    SELECT r.name || '.wav' FROM telephony_recording r
    WHERE r.connection_id = c.id AND r.state = 'ready' ORDER BY r.id LIMIT 1
  ) AS "filename",
  tr.status AS "transcription_status",
  NULLIF(c.campaign_code, '') AS "outbound_id",
  c.record_id AS "record_id"
FROM (
  SELECT * FROM telephony_connection WHERE {where} ORDER BY created_at DESC, id DESC LIMIT %s OFFSET %s
) c
LEFT JOIN telephony_agent a ON a.id = c.agent_id
LEFT JOIN telephony_connectiontopic t ON t.connection_id = c.id
LEFT JOIN telephony_transcription tr ON tr.connection_id = c.id
ORDER BY c.created_at DESC, c.id DESC

-- One connection
SELECT
  c.created_at AS "date",
  c.src AS "src",
  c.dst AS "dst",
  c.disposition AS "disposition",
  GREATEST(floor(extract(epoch FROM c.ended_at - c.created_at)), 0)::integer AS "duration",
  GREATEST(floor(extract(epoch FROM c.ended_at - c.answered_at)), 0)::integer AS "billsec",
  COALESCE(a.login, '') AS "user_login",
  floor(extract(epoch FROM c.created_at))::bigint || '.' || c.id AS "connection_id",
  c.direction AS "type",
  c.queue_id AS "queue_id",
  t.topic_id AS "topic_id",
  c.customer_id AS "customer_id",
  (
    SELECT r.name || '.wav' FROM telephony_recording r
    WHERE r.connection_id = c.id AND r.state = 'ready' ORDER BY r.id LIMIT 1
  ) AS "filename",
  tr.status AS "transcription_status",
  NULLIF(c.campaign_code, '') AS "outbound_id",
  c.record_id AS "record_id",
  c.cause AS "cause",
  c.cause_text AS "cause_text",
  c.id
FROM (
  SELECT * FROM telephony_connection WHERE {where} ORDER BY created_at DESC, id DESC LIMIT %s OFFSET %s
) c
LEFT JOIN telephony_agent a ON a.id = c.agent_id
LEFT JOIN telephony_connectiontopic t ON t.connection_id = c.id
LEFT JOIN telephony_transcription tr ON tr.connection_id = c.id
ORDER BY c.created_at DESC, c.id DESC
