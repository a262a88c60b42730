"""Deliberately broken loaders, one for each fault: what the checks must catch."""
