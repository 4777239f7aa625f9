"""Checkpoints under random packings, an oracle for `trilith inspect` beyond tests/zoo."""
