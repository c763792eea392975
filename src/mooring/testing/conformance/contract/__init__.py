"""The contract, check by check: one module for each chapter of ``docs/reference/provider-contract.md``."""
