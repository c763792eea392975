"""Plurals as the controllers of Cluster API form them: what their library says of these words, oddities included."""

from __future__ import annotations

import pytest

from mooring.clusterctl.plurals import crd_name, plural

# Kinds of real providers, and words that the rules of the library trip over.
PLURALS = """
awscluster/awsclusters machinehealthcheck/machinehealthchecks clusterclass/clusterclasses ipaddress/ipaddresses
kubeadmconfigtemplate/kubeadmconfigtemplates networkpolicy/networkpolicies gateway/gateways proxy/proxies
baremetalhost/baremetalhosts metal3data/metal3data metal3dataclaim/metal3dataclaims vspherevm/vspherevms
chassis/chassis index/indices matrix/matrices vertex/vertices box/boxes topaz/topazes quiz/quizzes
ox/oxen fox/foxes die/dice person/people kubeperson/kubepeople child/children mouse/mice dormouse/dormice
house/houses bus/buses status/statuses radius/radii octopus/octupuses corpus/corpora analysis/analyses
medium/media stadium/stadiums datum/data criterion/criteria phenomenon/phenomena
leaf/leaves knife/knives roof/roofs dwarf/dwarfs hoof/hoofs wolf/wolves
hero/heroes photo/photos tomato/tomatoes radio/radios video/videoes
series/series species/species news/news sheep/sheep equipment/equipment information/information
machines/machines children/children dns/dnsDNSes https/httpsHTTPSes ssh/sshs
"""


@pytest.mark.parametrize("pair", PLURALS.split())
def test_a_word_has_its_plural(pair):
    word, _, expected = pair.partition("/")
    assert plural(word) == expected


def test_a_definition_is_looked_for_under_the_plural():
    assert crd_name("infrastructure.cluster.x-k8s.io", "AWSCluster") == "awsclusters.infrastructure.cluster.x-k8s.io"
