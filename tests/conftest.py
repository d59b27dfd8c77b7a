"""What all tests rely on."""

import signal

# where tests run in the background, SIGINT may be ignored, and all that they start would inherit that
signal.signal(signal.SIGINT, signal.default_int_handler)
