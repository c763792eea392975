"""Answering AccessRequests: the side of access that every provider has, done once for all of them.

``plan`` decides from what is seen, ``reconciler`` has it done: in clusters by ``making``, on requests by ``telling``,
on the Secret with the kubeconfig by ``keeping``, where ``records`` is what is remembered. ``targets`` keeps the ways
into clusters, ``sweeping`` finds what nobody remembers, and ``leaving`` takes all of it out of clusters that stay.
"""
