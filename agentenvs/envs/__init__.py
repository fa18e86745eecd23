"""The families: one folder each, none of which imports another."""
