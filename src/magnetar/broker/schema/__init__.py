"""Schemas of topics: which may be declared; the registry and its compatibility rules come here."""
