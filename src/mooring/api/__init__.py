"""What things are: values and their rules, with no I/O and no clock. Every other room may import this one.

The kinds and where they are:

- `requests`: ClusterRequest, ClusterRequestGrant; `clusters`: Cluster, ClusterProfile; `access`: AccessRequest;
  `purposes`: Purpose, TraitEquivalence; `providers`: ClusterProvider.
- `kinds` is what all of them have (names on the wire, metadata); `conditions`, `references`, `traits`, `selectors`,
  `rbac` and `pods` are parts that several of them share.
- `schema` makes OpenAPI of a type, `crds` makes definitions of the kinds.
- `names`, `marks` (labels, annotations, finalizers) and `durations` are what upstream and we must write alike.
- `kubeconfigs` are documents for those who go through a door.

Import from the module that has it: loading all kinds takes a moment, and most commands need none.
"""
