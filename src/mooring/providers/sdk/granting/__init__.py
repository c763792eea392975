"""Answering AccessRequests: the side of access that every provider has, done once for all of them.

``plan`` decides from what is seen, ``reconciler`` does it, ``records`` is what is remembered (on the Secret that holds
the kubeconfig), ``targets`` keeps the ways into clusters, ``sweeping`` finds what nobody remembers.
"""
