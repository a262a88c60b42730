"""Recorded traces of training loops: written while it trains, read back, lent to other checks, and recorded here by a door."""
