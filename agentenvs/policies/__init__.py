"""Policies: whoever answers the turns of an episode."""
