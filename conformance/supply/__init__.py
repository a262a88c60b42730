"""How fast loaders supply a rank, side by side in one run and beside what the machine gives (C5): `fivepoint peers bench`."""
