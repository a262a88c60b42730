"""Glue between fivepoint and the trainers that use it."""
