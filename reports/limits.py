"""How much can be asked at once."""

# Of one report.
MOST_PERIODS = 20_000
# Of the service level.
MOST_SECONDS = 3600
