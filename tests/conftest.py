"""All tests use the shipped test kit, as a provider author's tests would; ``landscape_kit`` has what is ours alone."""

pytest_plugins = ["mooring.testing.plugin", "landscape_kit"]
