"""Which cluster a request gets, and why."""
