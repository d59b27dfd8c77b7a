"""Record golden runs anew."""

import sys

from tests.golden import main

main(sys.argv[1:])
