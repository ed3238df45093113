"""Transcription of recordings by a provider, and their analysis by a model."""
