"""Deploying providers: a ClusterProvider becomes a program at work, on a cluster with nodes or on this machine."""
