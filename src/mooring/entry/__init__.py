"""How a door into a cluster is made: accounts and roles in it, tokens that can be taken back, and kubeconfigs.

``resolving``, ``policies`` and ``creators`` say where a request leads and whether it may enter. ``doors`` says which
objects a request needs (no I/O), ``translating`` puts foreign spellings of rules right, ``opening`` and ``closing``
bring a cluster there and back; ``tokens`` issues and retires, ``renewing`` says when, ``kubeconfigs`` writes down what
an entrant gets. Whoever calls brings a client that may do all this in the cluster, and keeps that to itself.
"""
