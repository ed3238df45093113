"""Lists of the admin as a whole: exports, actions on all rows that match, saved views."""
