"""``mooring clusterctl``: clusterctl's words and flags, over `mooring.clusterctl`. One file per verb."""
