"""The parts of the suite: whom it checks, with which rights and configuration, and how it reports."""

from __future__ import annotations

import sys
import uuid
from pathlib import Path
from xml.etree import ElementTree

import pytest

from mooring.api.clusters import ClusterProfile
from mooring.kube import connection_from_document, typed
from mooring.providers.registry import BrokenProvider, NoSuchProvider
from mooring.testing.builders import NAMESPACES, namespace_object
from mooring.testing.conformance import (
    NoConfig,
    Outcome,
    Report,
    Result,
    Settings,
    Subject,
    UnusableConfig,
    all_checks,
    check_provider,
    command_subject,
    provider_subject,
    read_configs,
    running_subject,
)
from mooring.testing.conformance.accounts import Accounts
from mooring.testing.conformance.configurations import config_for
from mooring.testing.conformance.instances import Instance
from mooring.testing.conformance.rendering import as_junit, as_list, as_text

PLAIN = (sys.executable, str(Path(__file__).parent / "plain_provider.py"))
GROUP = ["clusters.openmcp.cloud"]
READING = {"apiGroups": GROUP, "resources": ["clusters", "clusterprofiles", "accessrequests"], "verbs": ["get", "list"]}
PUBLISHING = {"apiGroups": GROUP, "resources": ["clusterprofiles"], "verbs": ["create"]}
SERVING = {"apiGroups": GROUP, "resources": ["clusters", "clusters/status"], "verbs": ["patch"]}


@pytest.fixture
def there(own_plane):
    return connection_from_document(own_plane.admin_kubeconfig(name="own"))


# -- whom -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("named", "error", "words"),
    [
        ("nobody", NoSuchProvider, "There is no provider 'nobody'"),
        ("no_such_module:Provider", NoSuchProvider, "no module 'no_such_module'"),
        ("pathlib:Nothing", NoSuchProvider, "'pathlib' has no 'Nothing'"),
        ("pathlib:Path", BrokenProvider, "no subclass"),
        ("mooring.providers.sdk:Provider", BrokenProvider, "lacks admin_access, delete, ensure, profiles"),
        ("mooring.providers.local:LocalProvider", BrokenProvider, "cannot be made without arguments"),
    ],
)
def test_who_cannot_be_checked_is_told_why(named, error, words):
    with pytest.raises(error, match=words):
        provider_subject(named)


async def test_a_provider_that_runs_already(there, own_kube, tmp_path):
    """It is not started and not stopped: what needs that is skipped, and all the rest is checked."""
    name = f"running-{uuid.uuid4().hex[:6]}"
    await own_kube.create(NAMESPACES, namespace_object(name))
    accounts = Accounts(own_kube, name, tmp_path)
    kubeconfig = await accounts.kubeconfig(name, None)
    assert kubeconfig.stat().st_mode & 0o777 == 0o600
    words = ("run", "--environment=test", f"--provider-name={name}", "--verbosity=INFO")
    instance = Instance(name, (*PLAIN, *words), {"KUBECONFIG": str(kubeconfig)}, tmp_path / "log")
    await instance.start()
    try:
        report = await check_provider(running_subject(name), there)
        assert not instance.died, instance.last_words()
    finally:
        assert await instance.ask_to_stop() == 0
        await accounts.clear()
        await own_kube.delete(NAMESPACES, name)
        await own_kube.delete(
            typed(ClusterProfile), f"test.{name}"
        )  # which it publishes as long as it runs, and leaves
    assert report.named(Outcome.FAILED) == []
    assert set(report.named(Outcome.SKIPPED)) == {one.id for one in all_checks() if one.starts}
    assert "not ours to start" in report.of("restart.adopts").why


async def test_a_program_has_the_rights_that_it_is_given(there):
    settings = Settings(only=["cluster.finalizer"])
    enough = await check_provider(command_subject(PLAIN, rights=[READING, PUBLISHING, SERVING]), there, settings)
    assert enough.named(Outcome.FAILED) == []
    too_few = await check_provider(command_subject(PLAIN, rights=[READING, PUBLISHING]), there, settings)
    assert too_few.named(Outcome.FAILED) == ["cluster.ready"]
    assert "403" in too_few.of("cluster.ready").seen
    assert too_few.of("cluster.finalizer").blocked


async def test_a_program_that_is_not_there(there, tmp_path):
    with pytest.raises(ExceptionGroup) as failure:
        await check_provider(command_subject([str(tmp_path / "nothing")]), there, Settings(only=["program.init"]))
    assert failure.group_contains(FileNotFoundError)


def test_what_a_log_complains_about(tmp_path):
    instance = Instance("one", (), {}, tmp_path / "log")
    assert (instance.last_words(), instance.refusal()) == ("nothing", "")
    instance.log.write_text("begun\npods is forbidden: no right\n\nagain\nand again\n", encoding="utf-8")
    assert instance.last_words() == "pods is forbidden: no right / again / and again"
    assert instance.refusal() == "pods is forbidden: no right"


# -- configuration ----------------------------------------------------------------------------------------------------


async def test_a_provider_of_the_sdk_needs_a_configuration(there):
    with pytest.raises(NoConfig, match="--config FILE"):
        await check_provider(Subject(name="x", command=("x",), needs_config=True), there)


def test_configurations_fit_each_instance():
    mine = {"kind": "A", "metadata": {"name": "box"}, "spec": {"providerRef": {"name": "x"}, "size": 3}}
    filled = {"kind": "A", "metadata": {"name": "box"}, "spec": {"for": ["${PROVIDER_NAME} in ${ENVIRONMENT}", "$5"]}}
    shared = {"kind": "Secret", "metadata": {"name": "key"}, "data": {"a": "b"}}
    made = [config_for(one, provider="me", environment="dev") for one in (mine, filled, shared)]
    assert made[0]["metadata"]["name"] == "box-me"
    assert made[0]["spec"] == {"providerRef": {"name": "me"}, "size": 3}
    assert made[1]["metadata"]["name"] == "box-me"
    assert made[1]["spec"]["for"] == ["me in dev", "$5"]
    assert made[2] == shared
    assert mine["spec"]["providerRef"]["name"] == "x", "what was read stays as it is"


@pytest.mark.parametrize(
    ("text", "words"), [("a: [", "is not YAML"), ("just text", "this is no object"), ("kind: X", "this is no object")]
)
def test_files_without_objects_are_refused(tmp_path, text, words):
    file = tmp_path / "config.yaml"
    file.write_text(f"---\n---\n{text}\n", encoding="utf-8")
    with pytest.raises(UnusableConfig, match=words):
        read_configs([file])
    with pytest.raises(UnusableConfig, match="cannot be read"):
        read_configs([tmp_path / "nowhere"])


# -- reports ----------------------------------------------------------------------------------------------------------


def report_of(*outcomes):
    checks = {one.id: one for one in all_checks()}
    return Report(provider="toy", results=[Result(check=checks[name], **said) for name, said in outcomes])


REPORT = report_of(
    ("program.init", {"outcome": Outcome.PASSED, "seconds": 0.5}),
    ("program.terminates", {"outcome": Outcome.FAILED, "expected": "a", "seen": "b\x1b[2J", "remedy": "c"}),
    ("profiles.name", {"outcome": Outcome.FAILED, "expected": "a", "seen": "b"}),
    ("cluster.ready", {"outcome": Outcome.SKIPPED, "why": "so"}),
)


def test_a_report_as_text():
    text = as_text(REPORT)
    assert "FAILED   MUST    profiles.name" in text
    assert "          see: docs/reference/provider-contract.md#profiles-name" in text
    assert "          why: so" in text
    assert "\x1b" not in text
    assert text.endswith("4 checks: 1 passed, 2 failed, 1 skipped. toy does not conform: it breaks 1 MUST.\n")
    only_should = report_of(("program.terminates", {"outcome": Outcome.FAILED, "expected": "a", "seen": "b"}))
    assert only_should.conforms
    assert "toy conforms, and does not do 1 of what it SHOULD." in as_text(only_should)
    assert len(as_list(all_checks())) == len(all_checks()) + 1


def test_a_report_for_test_reporters():
    suite = ElementTree.fromstring(as_junit(REPORT))
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("4", "1", "2")
    cases = {f"{one.get('classname')}.{one.get('name')}": [inner.tag for inner in one] for one in suite}
    assert cases == {
        "program.init": [],
        "program.terminates": ["skipped"],
        "profiles.name": ["failure"],
        "cluster.ready": ["skipped"],
    }


def test_a_report_as_data():
    data = REPORT.as_data()
    assert (data["conforms"], data["passed"], data["failed"], data["skipped"]) == (False, 1, 2, 1)
    assert data["results"][2] == {
        "check": "profiles.name",
        "level": "MUST",
        "sentence": REPORT.results[2].check.sentence,
        "outcome": "failed",
        "expected": "a",
        "seen": "b",
        "seconds": 0.0,
        "link": "docs/reference/provider-contract.md#profiles-name",
    }
