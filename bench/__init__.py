"""Every bar of the project, measured against a floor in the same run: ``make bench [ONLY=name,…]``.

A floor is the same work done with nothing of ours around it, as a process of its own, with the same flags and on an
equally fresh key prefix. Subject and floor take turns, at least five times; what is compared are medians.
"""
