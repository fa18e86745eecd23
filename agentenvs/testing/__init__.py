"""Tests as a product: the contract test for authors of environments, golden playthroughs, a pytest plugin."""

from agentenvs.testing.contract import check_contract

__all__ = ["check_contract"]
