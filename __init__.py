"""fivepoint feeds language-model training: a contract of five points, its reference, its suite, its fast path."""

__version__ = "0.1.0"
