"""The providers that everybody can have without a line of configuration: the same list as upstream's.

Where each one publishes is data; a test compares it with what the real ``clusterctl config repositories`` says.
"""

from __future__ import annotations

from typing import Final

from mooring.clusterctl.providers import Provider, ProviderType

_GITHUB: Final = "https://github.com/"
_LATEST: Final = "/releases/latest/"

# By type: name, the repository on GitHub, and the file if it is not the usual one of the type.
_USUAL: Final = {
    ProviderType.CORE: "core-components.yaml",
    ProviderType.BOOTSTRAP: "bootstrap-components.yaml",
    ProviderType.CONTROL_PLANE: "control-plane-components.yaml",
    ProviderType.INFRASTRUCTURE: "infrastructure-components.yaml",
    ProviderType.IPAM: "ipam-components.yaml",
    ProviderType.RUNTIME_EXTENSION: "runtime-extensions-components.yaml",
    ProviderType.ADDON: "addon-components.yaml",
}

_LISTED: Final[dict[ProviderType, str]] = {
    ProviderType.CORE: """
        cluster-api kubernetes-sigs/cluster-api
    """,
    ProviderType.BOOTSTRAP: """
        canonical-kubernetes canonical/cluster-api-k8s
        k0sproject-k0smotron k0sproject/k0smotron
        kubeadm kubernetes-sigs/cluster-api
        kubekey-k3s kubesphere/kubekey
        microk8s canonical/cluster-api-bootstrap-provider-microk8s
        rke2 rancher/cluster-api-provider-rke2
        talos siderolabs/cluster-api-bootstrap-provider-talos
    """,
    ProviderType.CONTROL_PLANE: """
        canonical-kubernetes canonical/cluster-api-k8s
        hosted-control-plane teutonet/cluster-api-provider-hosted-control-plane
        k0sproject-k0smotron k0sproject/k0smotron
        kamaji clastix/cluster-api-control-plane-provider-kamaji
        kubeadm kubernetes-sigs/cluster-api
        kubekey-k3s kubesphere/kubekey
        microk8s canonical/cluster-api-control-plane-provider-microk8s
        nested kubernetes-sigs/cluster-api-provider-nested
        rke2 rancher/cluster-api-provider-rke2
        talos siderolabs/cluster-api-control-plane-provider-talos
    """,
    ProviderType.INFRASTRUCTURE: """
        aws kubernetes-sigs/cluster-api-provider-aws
        azure kubernetes-sigs/cluster-api-provider-azure
        byoh vmware-tanzu/cluster-api-provider-bringyourownhost
        cloudscale-ch-cloudscale cloudscale-ch/cluster-api-provider-cloudscale
        cloudstack kubernetes-sigs/cluster-api-provider-cloudstack
        coxedge coxedge/cluster-api-provider-coxedge
        digitalocean kubernetes-sigs/cluster-api-provider-digitalocean
        docker kubernetes-sigs/cluster-api infrastructure-components-development.yaml
        gcp kubernetes-sigs/cluster-api-provider-gcp
        harvester-harvester rancher-sandbox/cluster-api-provider-harvester
        hetzner syself/cluster-api-provider-hetzner
        hivelocity-hivelocity hivelocity/cluster-api-provider-hivelocity
        huawei HuaweiCloudDeveloper/cluster-api-provider-huawei
        ibmcloud kubernetes-sigs/cluster-api-provider-ibmcloud
        ionoscloud-ionoscloud ionos-cloud/cluster-api-provider-ionoscloud
        k0sproject-k0smotron k0sproject/k0smotron
        kubekey kubesphere/kubekey
        kubeswift-io kubeswift-io/cluster-api-provider-kubeswift
        kubevirt kubernetes-sigs/cluster-api-provider-kubevirt
        linode-linode linode/cluster-api-provider-linode
        maas spectrocloud/cluster-api-provider-maas
        metal-stack metal-stack/cluster-api-provider-metal-stack
        metal3 metal3-io/cluster-api-provider-metal3
        nested kubernetes-sigs/cluster-api-provider-nested
        nutanix nutanix-cloud-native/cluster-api-provider-nutanix
        oci oracle/cluster-api-provider-oci
        opennebula OpenNebula/cluster-api-provider-opennebula
        openstack kubernetes-sigs/cluster-api-provider-openstack
        outscale outscale/cluster-api-provider-outscale
        oxide oxidecomputer/cluster-api-provider-oxide
        proxmox ionos-cloud/cluster-api-provider-proxmox
        scaleway scaleway/cluster-api-provider-scaleway
        sidero siderolabs/sidero
        tinkerbell-tinkerbell tinkerbell/cluster-api-provider-tinkerbell
        vcd vmware/cluster-api-provider-cloud-director
        vcluster loft-sh/cluster-api-provider-vcluster
        virtink smartxworks/cluster-api-provider-virtink
        vsphere kubernetes-sigs/cluster-api-provider-vsphere
        vultr-vultr vultr/cluster-api-provider-vultr
    """,
    ProviderType.IPAM: """
        in-cluster kubernetes-sigs/cluster-api-ipam-provider-in-cluster
        metal3 metal3-io/ip-address-manager
        nutanix nutanix-cloud-native/cluster-api-ipam-provider-nutanix
    """,
    ProviderType.RUNTIME_EXTENSION: """
        nutanix nutanix-cloud-native/cluster-api-runtime-extensions-nutanix
    """,
    ProviderType.ADDON: """
        eitco-cdk8s eitco/cluster-api-addon-provider-cdk8s
        helm kubernetes-sigs/cluster-api-addon-provider-helm
        rancher-fleet rancher/cluster-api-addon-provider-fleet
    """,
}


def _read() -> tuple[Provider, ...]:
    found = []
    for type_, lines in _LISTED.items():
        for line in lines.split("\n"):
            if words := line.split():
                name, repository, *file = words
                url = f"{_GITHUB}{repository}{_LATEST}{file[0] if file else _USUAL[type_]}"
                found.append(Provider(name, type_, url))
    return tuple(found)


BUILT_IN: Final = _read()
