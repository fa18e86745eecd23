"""Submissions: bundled, verified by playing them again, shown on a page."""
