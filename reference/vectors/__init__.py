"""Golden vectors: the literal inputs, and what the reference makes of them (formats.md, F6).

`python -m fivepoint.reference.vectors` writes the files of spec/vectors; with `--check` it compares them instead.
"""
