"""From a recording to who said what, and what a model makes of it."""
