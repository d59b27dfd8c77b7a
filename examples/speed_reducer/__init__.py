"""A gear box: one integer, six floats, eleven constraints."""
