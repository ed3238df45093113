-- Read a record
SELECT
  r.id AS "record_id",
  r.phone_number AS "phone_number",
  r.identifier AS "identifier",
  COALESCE(s.name, '') AS "status",
  r.status_id AS "status_id",
  r.system_status AS "system_status",
  COALESCE(a.login, '') AS "agent_login",
  trim(concat_ws(' ', a.name, a.surname)) AS "agent_name",
  r.next_call_at AS "next_call_date",
  r."order" AS "order",
  r.called_at AS "call_date",
  r.created_at AS "create_date",
  r.last_note AS "last_note",
  r.fields,
  CASE WHEN %(include_fields)s THEN COALESCE((
    SELECT jsonb_agg(jsonb_build_array(f.name, f.id) ORDER BY f."order", f.id)
    FROM campaigns_campaignfield f WHERE f.campaign_id = c.id), '[]') END AS campaign_fields

FROM campaigns_record r
JOIN campaigns_campaign c ON c.id = r.campaign_id
LEFT JOIN campaigns_recordstatus s ON s.id = r.status_id
LEFT JOIN telephony_agent a ON a.id = r.agent_id

-- Add records
given AS MATERIALIZED (
  SELECT nextval('campaigns_record_id_seq') AS id, g.* FROM json_to_recordset(%(records)s::json)
    AS g(phone_number text, number text, status_name text, agent_login text, "identifier" text, "status_id" bigint, "system_status" varchar, "agent_id" bigint, "next_call_at" timestamptz, "order" integer, "last_note" text, "zone" text, "calling_code" text, "fields" jsonb)
), added AS (
  INSERT INTO campaigns_record (id, campaign_id, phone_number, number, is_primary, leased_by, "identifier", "status_id", "system_status", "agent_id", "next_call_at", "order", "last_note", "zone", "calling_code", "fields")
  SELECT id, %(campaign)s, phone_number, number, true, '', "identifier", "status_id", "system_status", "agent_id", "next_call_at", "order", "last_note", "zone", "calling_code", "fields"
  FROM given ORDER BY number
  ON CONFLICT DO NOTHING
  RETURNING id, number
), history AS (
  INSERT INTO campaigns_recordchange (record_id, actor_kind, actor_id, actor_name, actor_address, action, changes,
                                      from_status, to_status, from_system_status, to_system_status)
  SELECT added.id, %(actor_kind)s, %(actor_id)s, %(actor_name)s, %(actor_address)s::inet, 'create', '{}',
         '', given.status_name, '', given.system_status
  FROM added JOIN given USING (number)
), additional AS (
  INSERT INTO campaigns_additionalnumber (record_id, campaign_id, phone_number, number)
  SELECT added.id, %(campaign)s, a.phone_number, a.number
  FROM json_to_recordset(%(additional)s::json) AS a(of_number text, phone_number text, number text)
  JOIN added ON added.number = a.of_number
)

-- Lock records to edit them
SELECT r.id, r.number, r.is_primary, r.phone_number, COALESCE(a.login, '') AS agent_login,
       (r.leased_by <> '' AND (r.leased_until IS NULL OR r.leased_until > now())) AS is_leased, r."identifier", r."status_id", r."system_status", r."agent_id", r."next_call_at", r."order", r."last_note", r."zone", r."calling_code", r."fields"
FROM campaigns_record r LEFT JOIN telephony_agent a ON a.id = r.agent_id
WHERE r.campaign_id = %(campaign)s AND ((r.is_primary AND r.number = ANY(%(numbers)s)) OR r.id = ANY(%(ids)s))
ORDER BY r.id FOR NO KEY UPDATE OF r

-- Edit records
given AS MATERIALIZED (
  SELECT * FROM json_to_recordset(%(rows)s::json)
    AS g(id bigint, phone_number text, agent_login text, changes jsonb, is_status_changed boolean, from_status text,
         to_status text, from_system_status text, "identifier" text, "status_id" bigint, "system_status" varchar, "agent_id" bigint, "next_call_at" timestamptz, "order" integer, "last_note" text, "zone" text, "calling_code" text, "fields" jsonb)
), edited AS (
  UPDATE campaigns_record r SET held_until = NULL, fields = COALESCE(v.fields, r.fields),
         "identifier" = v."identifier", "status_id" = v."status_id", "system_status" = v."system_status", "agent_id" = v."agent_id", "next_call_at" = v."next_call_at", "order" = v."order", "last_note" = v."last_note", "zone" = v."zone", "calling_code" = v."calling_code"
  FROM given v WHERE r.id = v.id
), history AS (
  INSERT INTO campaigns_recordchange (record_id, actor_kind, actor_id, actor_name, actor_address, action, changes,
                                      from_status, to_status, from_system_status, to_system_status)
  SELECT id, %(actor_kind)s, %(actor_id)s, %(actor_name)s, %(actor_address)s::inet, %(change_action)s, changes,
         from_status, to_status, from_system_status, system_status
  FROM given
)

-- Stage the rows of an import
COPY import_row (line, phone_number, number, "identifier", "status_id", "system_status", "agent_id", "next_call_at", "order", "last_note", "zone", "calling_code", "fields", additional_raw, additional, message) FROM STDIN
