"""The Python face of the native loader, twin of fivepoint.reference."""
