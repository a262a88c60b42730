"""The readable executable specification, in pure Python and numpy."""
