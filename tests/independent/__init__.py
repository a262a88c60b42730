"""Slow second implementation of spec/algorithms.md, which the tests take their expected results from.

It follows the text of the specification by walking, counting and searching, and shares no code with the package.
"""
