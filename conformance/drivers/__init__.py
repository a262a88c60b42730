"""Drivers for the loaders that ship with fivepoint, and the example to write one from."""
