"""All tests use the shipped test kit, as a provider author's tests would; ``landscape_kit`` has what is ours alone."""

import signal

# Whoever runs the tests in the background has Ctrl-C ignored, and so would have every process that the tests start
# and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

pytest_plugins = ["mooring.testing.plugin", "landscape_kit"]
