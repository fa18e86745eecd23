"""Suites, runs, statistics, reports."""
