"""What holds for all tests."""

import signal

from hypothesis import settings

# A shell that runs tests in the background makes them ignore Ctrl-C, and the processes that they start inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests that are told to end tidy up, as after Ctrl-C: nothing that they have started stays.
signal.signal(signal.SIGTERM, signal.default_int_handler)

# No example fails for being slow: kernels are compiled on first use, and machines are busy.
settings.register_profile("moet", settings(), deadline=None)
settings.load_profile("moet")
