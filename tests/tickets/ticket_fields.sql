-- Read tickets
SELECT
  t.id::text AS "ticket_id",
  COALESCE(a.login, '') AS "user_login",
  t.sender AS "from",
  q.name AS "ticket_queue_name",
  t.queue_id AS "ticket_queue_id",
  t.subject AS "subject",
  t.category_id AS "category_id",
  t.source AS "source",
  t.status_id::text AS "status_id",
  COALESCE(t.substatus_id::text, '') AS "substatus_id",
  t.tags AS "tags",
  t.customer_id AS "customer_id",
  s.name || COALESCE(' - ' || ss.name, '') AS "full_status_name",
  COALESCE(to_char(t.created_at AT TIME ZONE '[zone]', 'YYYY-MM-DD HH24:MI'), '') AS "created_at",
  COALESCE(to_char(t.updated_at AT TIME ZONE '[zone]', 'YYYY-MM-DD HH24:MI'), '') AS "updated_at",
  COALESCE(to_char(t.closed_at AT TIME ZONE '[zone]', 'YYYY-MM-DD HH24:MI'), '') AS "closed_at",
  CASE WHEN t.closed_at IS NULL THEN '' ELSE to_char(floor(GREATEST(floor(extract(epoch FROM t.closed_at - t.created_at)), 0) / 3600), 'FM9999999000') || to_char(make_interval(secs => GREATEST(floor(extract(epoch FROM t.closed_at - t.created_at)), 0)), ':MI:SS') END AS "close_time",
  COALESCE(to_char(t.first_agent_responded_at AT TIME ZONE '[zone]', 'YYYY-MM-DD HH24:MI'), '') AS "first_agent_responded_at",
  CASE WHEN t.first_agent_responded_at IS NULL THEN '' ELSE to_char(floor(GREATEST(floor(extract(epoch FROM t.first_agent_responded_at - t.created_at)), 0) / 3600), 'FM999999900') || to_char(make_interval(secs => GREATEST(floor(extract(epoch FROM t.first_agent_responded_at - t.created_at)), 0)), ':MI:SS') END AS "first_agent_response_time",
  t.connected_ids AS "connected_ticket_ids",
  t.custom_fields::text AS custom_fields
FROM unnest(%s::bigint[]) WITH ORDINALITY AS page(id, place)
JOIN tickets_ticket t ON t.id = page.id
JOIN tickets_ticketqueue q ON q.id = t.queue_id
JOIN tickets_ticketstatus s ON s.id = t.status_id
LEFT JOIN tickets_ticketsubstatus ss ON ss.id = t.substatus_id
LEFT JOIN telephony_agent a ON a.id = t.agent_id
ORDER BY page.place

-- Read their messages
SELECT
  m.ticket_id::text AS ticket_id,
  m.id AS "message_id",
  COALESCE(a.login, '') AS "user_login",
  m.type AS "type",
  m.body || m.quoted AS "body",
  m.comment AS "comment",
  m.system_comment AS "system_comment",
  COALESCE(to_char(m.created_at AT TIME ZONE '[zone]', 'YYYY-MM-DD HH24:MI'), '') AS "created_at",
  m.attachments AS "attachments",
  m.ratings AS "ratings"
FROM tickets_message m LEFT JOIN telephony_agent a ON a.id = m.agent_id
WHERE m.ticket_id = ANY(%s::bigint[]) ORDER BY m.ticket_id, m.created_at, m.id

-- Read customers
SELECT
  c.id AS "customer_id",
  c.name AS "name",
  c.surname AS "surname",
  c.email AS "email",
  COALESCE((SELECT n.phone_number FROM tickets_customernumber n WHERE n.customer_id = c.id ORDER BY n.id LIMIT 1), '') AS "phone_number",
  ARRAY(SELECT n.phone_number FROM tickets_customernumber n WHERE n.customer_id = c.id ORDER BY n.id) AS "phone_numbers",
  c.company_id AS "company_id",
  c.identifier AS "identifier",
  c.time_zone AS "time_zone",
  COALESCE(to_char(c.created_at AT TIME ZONE '[zone]', 'YYYY-MM-DD HH24:MI'), '') AS "created_at",
  COALESCE(to_char(c.updated_at AT TIME ZONE '[zone]', 'YYYY-MM-DD HH24:MI'), '') AS "updated_at",
  c.custom_fields::text AS custom_fields
FROM tickets_customer c WHERE c.id = ANY(%s::bigint[]) ORDER BY c.id
