"""Measurements behind the documents: each figure names the command here that made it."""
