"""Where and how evaluations run, and the loop that drives a search with them."""
