-- An entry of the dictionary for each system status, and the results that the dialler uses.
INSERT INTO campaigns_dictionarystatus (name, system_status, "order", is_wrong_number, key) VALUES
  ('To be called', 'TO_CALL', 10, false, ''),
  ('In progress', 'IN_PROGRESS', 20, false, ''),
  ('Call', 'CALL', 30, false, ''),
  ('Own record', 'MY_RECORD', 40, false, ''),
  ('Do not call', 'NO_CALL', 50, false, ''),
  ('Rejected after n tries', 'ABANDONED_AFTER_N_TRIES', 60, false, ''),
  ('Call no sooner than', 'CALL_NO_SOONER_THAN', 70, false, ''),
  ('Call in progressive mode', 'CALL_PROGRESSIVE', 80, false, ''),
  ('Contacted', 'NO_CALL', 90, false, 'contacted'),
  ('Wrong number', 'NO_CALL', 100, true, 'wrong_number'),
  ('Call later', 'CALL_NO_SOONER_THAN', 110, false, 'call_later');

-- The only legal rule that is delivered.
INSERT INTO campaigns_legalhours
  (name, prefix, weekdays, begins_at, ends_at, allows_holidays, holiday_country, source)
VALUES ('United States', '1', '1234567', '08:00', '21:00', true, '', '47 CFR 64.1200(c)(1)');
