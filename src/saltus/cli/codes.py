"""How the command ends: its exit codes."""

DONE = 0  # the target was reached, the budget used, the output written
TROUBLE = 1  # too many evaluations failed one after the other
USAGE = 2  # wrong usage, or something wrong in the study file
RECORD = 3  # the record cannot be used: held by another process, damaged, disk full
NOTHING = 4  # ask: nothing to hand out before more values are told
INTERRUPTED = 130  # continue with the same command
