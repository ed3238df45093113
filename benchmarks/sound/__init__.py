"""Thirty agents with sound on a real Asterisk: how soon both sides hear each other, and what remains after kills."""
