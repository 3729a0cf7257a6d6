"""The cases of the Python suite, by subject."""
