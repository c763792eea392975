"""Words: argv in, text out. ``script.main`` is the console script.

Only what a word needs is imported, when it runs, so that ``mooring --help`` is quick.
"""
