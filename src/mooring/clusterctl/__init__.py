"""What ``clusterctl`` does, as a library: provider repositories, templates, and the life of providers and clusters.

One file per verb. Nothing here prints or reads argv; that is `mooring.cli.clusterctl`.
"""
