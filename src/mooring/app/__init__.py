"""Everything joined: the one room that knows all the others."""
