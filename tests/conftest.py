"""What holds for all tests."""

import signal

# A shell that runs tests in the background makes them ignore Ctrl-C, and the processes that they start inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
