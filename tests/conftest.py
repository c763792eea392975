"""All tests use the shipped test kit, as a provider author's tests would."""

pytest_plugins = ["mooring.testing.plugin"]
