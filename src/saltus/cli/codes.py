"""How the command ends: its exit codes, and what `saltus --help` says of each."""

MEANINGS = {
    0: "done: the target was reached, the budget used, the output written",
    1: "the study ended in trouble: too many evaluations failed one after the other",
    2: "wrong usage, or something wrong in the study file",
    3: "the record cannot be used: held by another process, damaged, disk full",
    4: "ask: nothing to hand out before more values are told",
    130: "interrupted: continue with the same command",
}
DONE, TROUBLE, USAGE, RECORD, NOTHING, INTERRUPTED = MEANINGS
