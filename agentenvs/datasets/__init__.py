"""Data sets: manifests, where their files lie, how to get them."""

from agentenvs.datasets.fetch import FileStatus, Progress, get, status
from agentenvs.datasets.locate import cache_dir, digest, find, require
from agentenvs.datasets.manifest import DataFile, Dataset, dataset, datasets

__all__ = [
    "DataFile",
    "Dataset",
    "FileStatus",
    "Progress",
    "cache_dir",
    "dataset",
    "datasets",
    "digest",
    "find",
    "get",
    "require",
    "status",
]
