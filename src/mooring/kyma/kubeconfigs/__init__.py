"""KubeconfigRequests: each is answered by one AccessRequest, and shows the kubeconfig that this one gets.

``plan`` says what the AccessRequest should be, ``reconciler`` sees to it, ``copying`` brings the kubeconfig over.
"""
