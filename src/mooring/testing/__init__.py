"""The test kit: a real API server per test run, faults on the way to it, and objects to begin with.

For Mooring's own tests and for those of provider authors. Switch the fixtures on in a ``conftest.py``::

    pytest_plugins = ["mooring.testing.plugin"]
"""
