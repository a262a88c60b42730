"""What the suite says at the end: for a terminal, for machines, for continuous integration."""
