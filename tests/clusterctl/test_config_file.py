"""The configuration beside the judge: where the file is found, what its values mean, which providers there are."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
import yaml
from hosts import PlainSite, Reply, StandIn
from releases import infrastructure, write_config, write_repository
from repository_kit import metadata

INFRASTRUCTURE = "InfrastructureProvider"


def provider(name="shipyard", type_=INFRASTRUCTURE, url="https://example.com/a/b.yaml"):
    return {"name": name, "type": type_, "url": url}


def listing(*providers):
    return yaml.safe_dump({"providers": list(providers)})


@pytest.mark.parametrize("output", ["yaml", "text"])
def test_the_built_in_providers_are_those_of_the_judge(judge, ours, output):
    """Byte by byte; the list is also what makes a name known to every other word."""
    theirs, mine = judge("config", "repositories", "-o", output), ours("config", "repositories", "-o", output)
    assert theirs.code == mine.code == 0
    assert mine.out == theirs.out
    assert len(mine.out.splitlines()) > 60


def test_another_form_of_the_list_is_refused(judge, ours):
    for output in ("json", "YAML", ""):
        theirs, mine = (one("config", "repositories", "-o", output) for one in (judge, ours))
        assert (mine.code, mine.out) == (theirs.code, theirs.out) == (1, "")
        assert_one_sentence(mine.err)


# What may be under `providers`, and what may not; each is read, and printed, or refused.
PROVIDERS = {
    "one is added": listing(provider()),
    "one is overridden": listing(provider("aws", url="/local/infrastructure-aws/latest/components.yaml")),
    "of one name and another type": listing(provider("aws", "BootstrapProvider")),
    "the last of two counts": listing(provider(url="/a/one.yaml"), provider(url="/a/two.yaml")),
    "each type": listing(
        provider("cluster-api", "CoreProvider", "/x/core.yaml"),
        *(provider("z", f"{type_}Provider") for type_ in ("Addon", "IPAM", "ControlPlane", "RuntimeExtension")),
    ),
    "a long name": listing(provider("a" * 253)),
    "a very long name": listing(provider("a" * 254)),
    "a name with dots": listing(provider("ship.yard-2")),
    "a name that ends in a hyphen": listing(provider("shipyard-")),
    "a name in capitals": listing(provider("Shipyard")),
    "a name that is a number": listing(provider(7)),
    "a name that is a boolean": "providers: [{name: true, type: AddonProvider, url: /x/y}]",
    "a name that is a list": "providers: [{name: [a], type: AddonProvider, url: /x/y}]",
    "a name that is a date": "providers: [{name: 2024-01-01, type: AddonProvider, url: /x/y}]",
    "no name": listing({"type": INFRASTRUCTURE, "url": "/x/y"}),
    "no url": listing({"name": "shipyard", "type": INFRASTRUCTURE}),
    "no type": listing({"name": "shipyard", "url": "/x/y"}),
    "a type in small letters": listing(provider(type_="infrastructureprovider")),
    "another type": listing(provider(type_="Provider")),
    "the core under another name": listing(provider("core", "CoreProvider")),
    "the name of the core": listing(provider("cluster-api", INFRASTRUCTURE)),
    "keys in capitals": f"PROVIDERS: [{{NAME: shipyard, Type: {INFRASTRUCTURE}, Url: /x/y}}]",
    "more keys": listing({**provider(), "colour": "blue"}),
    "one without a list": yaml.safe_dump({"providers": provider()}),
    "nothing": "providers:\n",
    "an empty list": "providers: []",
    "an empty mapping": "providers: {}",
    "empty text": "providers: ''",
    "text": "providers: aws",
    "a number": "providers: 7",
    "an empty provider": "providers: [null]",
    "an empty mapping in the list": "providers: [{}]",
    "a url without a folder": listing(provider(url="components.yaml")),
    "a url that ends in a slash": listing(provider(url="https://example.com/a/")),
    "letters beyond ASCII": listing(provider(url="/häfen/infrastructure-shipyard/latest/ü.yaml")),
    "characters that YAML escapes": listing(provider(url="/a: b/#c/'d'/&e.yaml")),
    "variables of the environment": listing(provider(url="${BASE}/x/${MISSING}/${FILE:=c.yaml}")),
    "variables of the file": "base: /from-file\n" + listing(provider(url="/x${base}${BASE2}/y")),
    "a variable that leaves nothing": listing(provider(url="${MISSING}")),
    "a dollar alone": listing(provider(url="/a/$b/c$")),
    "broken variables": listing(provider(url="/a/${b")),
    "a control character": listing(provider(url="/a/\x07b")),
    "a broken escape": listing(provider(url="/a/%zz")),
    "a colon at first": listing(provider(url=":a/b")),
    "a colon in the first step": listing(provider(url="a_b:c/d")),
    "a drive": listing(provider(url="C:/repository/infrastructure-shipyard/v1.0.0/c.yaml")),
    "a drive in a url": listing(provider(url="file:///C:/repository/infrastructure-shipyard/v1.0.0/c.yaml")),
    "a port that is none": listing(provider(url="https://example.com:x/y")),
    "a host in brackets": listing(provider(url="https://[::1]:80/y")),
    "a host in brackets that is none": listing(provider(url="https://[::1/y")),
    "a host with a blank": listing(provider(url="https://exa mple.com/y")),
    "twice the same key": "providers: []\nproviders: []\n",
    "two documents": listing(provider()) + "---\nproviders: 7\n",
    "not YAML": "providers: [",
    "a list instead of settings": "- providers",
    "text instead of settings": "providers",
    "an empty file": "",
    "a comment": "# nothing\n",
    "a byte order mark": "\ufeff" + listing(provider()),
    "merged": f"x: &x {{type: {INFRASTRUCTURE}, url: /x/y}}\nproviders: [{{<<: *x, name: shipyard}}]",
}


def test_the_file_adds_and_overrides_providers_as_it_does_for_the_judge(judge, ours, tmp_path):
    file, differences = tmp_path / "clusterctl.yaml", []
    for about, text in PROVIDERS.items():
        file.write_text(text)
        theirs, mine = (
            one("config", "repositories", "-o", "yaml", config=file, BASE="/env", BASE2="/env2")
            for one in (judge, ours)
        )
        if (theirs.code, theirs.out) != (mine.code, mine.out):
            differences.append(f"{about}: {theirs.code} {theirs.err} … {mine.code} {mine.err}")
        if mine.code:
            assert_one_sentence(mine.err)
    assert differences == []
    # Some are refused and some are not: otherwise this would compare nothing.
    file.write_text(PROVIDERS["letters beyond ASCII"])
    theirs, mine = (one("config", "repositories", config=file) for one in (judge, ours))
    assert theirs.code == 0
    assert mine.out == theirs.out


def assert_one_sentence(err: str) -> None:
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err


def test_a_provider_that_cannot_be_used_is_told(ours, tmp_path):
    file = tmp_path / "clusterctl.yaml"

    def said(*providers) -> str:
        file.write_text(listing(*providers))
        return ours("config", "repositories", config=file).err

    assert "the InfrastructureProvider 'Shipyard'" in said(provider("Shipyard"))
    assert "must be in lower case" in said(provider("Shipyard"))
    assert "the type must be one of CoreProvider, BootstrapProvider" in said(provider(type_="Provider"))
    assert "a % must be followed by two hexadecimal digits" in said(provider(url="/a/%zz"))
    assert "it needs a url" in said({"name": "shipyard", "type": INFRASTRUCTURE})
    assert "put it in quotes" in said({**provider(), "name": yaml.safe_load("2024-01-01")})


# Formats and places


FORMATS = {
    "a.json": '{"Providers": [{"name": "shipyard", "type": "InfrastructureProvider", "url": "/x/json"}]}',
    "a.toml": '[[providers]]\nname = "shipyard"\ntype = "InfrastructureProvider"\nurl = "/x/toml"\n',
    "a.yml": listing(provider(url="/x/yml")),
    "broken.json": '{"providers": [}',
    "empty.json": "",
    "null.json": "null",
    "list.json": "[]",
    "twice.json": '{"providers": 7, "providers": []}',
    "endless.json": '{"providers": [], "x": 1e999}',
    "deep.json": '{"x": ' + "[" * 20_000 + "]" * 20_000 + "}",
    "broken.toml": "providers = [",
    "a.properties": "a=b",
    "a.ini": "[a]\nb=c",
    "a.hcl": "a = 1",
    "a.YAML": listing(provider()),
    "a.txt": listing(provider()),
    "a": listing(provider()),
    ".yaml": listing(provider(url="/x/hidden")),
}


def test_the_format_is_told_by_the_name(judge, ours, tmp_path):
    for name, text in FORMATS.items():
        file = tmp_path / name
        file.write_text(text)
        theirs, mine = (one("config", "repositories", "-o", "yaml", config=file) for one in (judge, ours))
        assert (name, mine.code, mine.out) == (name, theirs.code, theirs.out), mine.err
        if mine.code:
            assert_one_sentence(mine.err)


def test_a_file_of_lines_is_refused(judge, ours, tmp_path):
    """DEVIATION dotenv-configuration."""
    file = tmp_path / "clusterctl.env"
    file.write_text("A=b\n")
    assert judge("config", "repositories", config=file).code == 0
    mine = ours("config", "repositories", config=file)
    assert mine.code == 1
    assert "a .env file cannot be read: write it as YAML" in mine.err


def test_a_file_that_cannot_be_read_is_told(judge, ours, tmp_path):
    file = tmp_path / "binary.yaml"
    file.write_bytes(b"providers: \xff\xfe\n")
    for path in (file, tmp_path, tmp_path / "absent.yaml", Path("/\n.yaml")):
        theirs, mine = (one("config", "repositories", config=path) for one in (judge, ours))
        assert mine.code == theirs.code == 1
        assert_one_sentence(mine.err)
        assert repr(str(path))[1:-1] in mine.err
    # Also by a word that needs nothing of it.
    theirs, mine = (one("version", config=tmp_path / "absent.yaml") for one in (judge, ours))
    assert mine.code == theirs.code == 1
    assert_one_sentence(mine.err)


# Where a file is; where else one is; the environment; which of them is read (or nothing, or an error).
PLACES = {
    "in the folder of XDG": (["{home}/config/cluster-api/clusterctl.yaml"], {}),
    "in the folder of old": (["{home}/.cluster-api/clusterctl.yaml"], {}),
    "in both": (["{home}/.cluster-api/clusterctl.yaml", "{home}/config/cluster-api/clusterctl.yaml"], {}),
    "without XDG_CONFIG_HOME": (
        ["{home}/config/cluster-api/clusterctl.yaml", "{home}/.config/cluster-api/clusterctl.yaml"],
        {"XDG_CONFIG_HOME": ""},
    ),
    "a relative XDG_CONFIG_HOME": (["{home}/.config/cluster-api/clusterctl.yaml"], {"XDG_CONFIG_HOME": "config"}),
    "an XDG_CONFIG_HOME with ~": (["{home}/mine/cluster-api/clusterctl.yaml"], {"XDG_CONFIG_HOME": "~/mine"}),
    "an XDG_CONFIG_HOME with ~mine": (["{home}/mine/cluster-api/clusterctl.yaml"], {"XDG_CONFIG_HOME": "~mine"}),
    "an XDG_CONFIG_HOME with $HOME": (["{home}/mine/cluster-api/clusterctl.yaml"], {"XDG_CONFIG_HOME": "$HOME/mine"}),
    "as yml": (["{home}/config/cluster-api/clusterctl.yml"], {}),
    "as yml and yaml": (["{home}/config/cluster-api/clusterctl.yml", "{home}/config/cluster-api/clusterctl.yaml"], {}),
    "as yaml of old and yml": (["{home}/.cluster-api/clusterctl.yaml", "{home}/config/cluster-api/clusterctl.yml"], {}),
    "under another name": (["{home}/config/cluster-api/config.yaml"], {}),
    "a folder": (["{home}/config/cluster-api/clusterctl.yaml/x"], {}),
    "a folder, and a file of old": (
        ["{home}/config/cluster-api/clusterctl.yaml/x", "{home}/.cluster-api/clusterctl.yaml"],
        {},
    ),
    "nowhere": ([], {}),
}


def test_the_file_is_found_where_the_judge_finds_it(judge, ours, tmp_path):
    found = set()
    for number, (about, (files, environ)) in enumerate(PLACES.items()):
        home = tmp_path / str(number)
        home.mkdir()
        for order, name in enumerate(files):
            file = Path(name.format(home=home))
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(listing(provider(url=f"/found/{order}")))
        surroundings = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / "config"), **environ}
        theirs, mine = (one("config", "repositories", "-o", "yaml", **surroundings) for one in (judge, ours))
        assert (about, mine.code, mine.out) == (about, theirs.code, theirs.out)
        found.update(re.findall(r"Name: shipyard", mine.out) or ["none"])
    assert found == {"Name: shipyard", "none"}


def test_the_file_may_be_on_the_web(judge, ours):
    """DEVIATION remote-configuration: the judge wants a folder to put it into, and follows out of https."""
    text = listing(provider())
    with PlainSite({"clusterctl.yaml": text, "other": text, "binary.yaml": "a: \udcff"}) as site:
        (judge.home / "config" / "cluster-api").mkdir(parents=True)
        for path in ("clusterctl.yaml", "other", "absent.yaml"):
            address = f"{site.url}/{path}"
            theirs, mine = (one("config", "repositories", "--config", address) for one in (judge, ours))
            assert (mine.code, mine.out) == (theirs.code, theirs.out)
        assert "absent.yaml: the server answers 404" in mine.err
        assert list(ours.home.rglob("*")) == []
        upper = site.url.replace("http", "HTTP") + "/clusterctl.yaml"
        assert ours("config", "repositories", "--config", upper).code == 0
    assert_one_sentence(ours("config", "repositories", "--config", f"{site.url}/x.yaml").err)
    huge = Reply(body=b"#" * (65 * 1024 * 1024))
    with StandIn(lambda asked: huge) as site:
        assert "is larger than 64 MiB" in ours("config", "repositories", "--config", f"{site.url}/x.yaml").err


# Variables


VALUES = """
TEXT: plain
QUOTED: "12"
NUMBER: 12
NEGATIVE: -3
OCTAL: 0o17
OLD_OCTAL: 017
HEX: 0x1f
FRACTION: 1.50
EXPONENT: 1e3
LARGE: 123456789012345678901234567890
TINY: 1e-9
TRUE_: true
YES: yes
OFF: off
LETTER: y
NOTHING:
EMPTY: ""
TILDE: ~
DATE: 2024-01-02
TIME: 2024-01-02T03:04:05Z
ZONED: 2024-01-02T03:04:05.6+02:00
SPACED: 2024-01-02 03:04:05
CLOCK: 1:30
LIST: [a, b]
MAPPING: {a: b}
NAN_: .nan
INFINITY: -.inf
FOLDED: >-
  two
  lines
lower: small
MiXeD: mixed
with-hyphen: hyphen
Dotted.Name: dotted
NESTED: {INNER: inner, 1: one, LIST: [first, {DEEP: deep}]}
IN_BOTH: file
EMPTY_IN_BOTH: file
FROM_FLAG_KEY: file
1: number
true: boolean
"""
NAMES = [
    *(line.split(":")[0] for line in VALUES.split("\n") if line and line[0] not in " 1t"),
    *("LOWER", "mixed", "WITH_HYPHEN", "IN_ENVIRONMENT", "EMPTY_IN_ENVIRONMENT", "in_environment", "NOBODY", "TRUE"),
]


def template(names) -> str:
    return "".join(f"{number}: |-\n  <${{{name}}}>\n" for number, name in enumerate(names))


def missing_in(err: str) -> set[str]:
    found = re.search(r"value for variables \[(.*?)\] is not set", err)
    return set(found[1].split(", ")) if found else set()


def test_variables_mean_what_they_mean_to_the_judge(judge, ours, tmp_path):
    file = tmp_path / "clusterctl.yaml"
    file.write_text(VALUES)
    environ = {
        "IN_BOTH": "environment",
        "EMPTY_IN_BOTH": "",
        "IN_ENVIRONMENT": "environment",
        "EMPTY_IN_ENVIRONMENT": "",
        "LIST": "environment",
        "mixed": "not in capitals",
    }
    names = [name for name in NAMES if re.fullmatch(r"\w+", name)]
    theirs, mine = (one("generate", "yaml", stdin=template(names), config=file, **environ) for one in (judge, ours))
    assert theirs.code == mine.code == 1
    missing = missing_in(theirs.err)
    assert missing_in(mine.err) == missing
    assert {"NOBODY", "NOTHING", "TILDE"} <= missing
    there = [name for name in names if name not in missing]
    theirs, mine = (one("generate", "yaml", stdin=template(there), config=file, **environ) for one in (judge, ours))
    assert (theirs.code, mine.code) == (0, 0), theirs.err + mine.err
    [told], [said] = theirs.documents, mine.documents
    assert dict(zip(there, said.values(), strict=True)) == dict(zip(there, told.values(), strict=True))
    assert "<environment>" in told.values()


def test_variables_of_other_formats_mean_the_same(judge, ours, tmp_path):
    texts = {
        "a.json": '{"A": 12, "B": 1.50, "C": 12345678901234567890, "D": true, "F": [1], "G": "g", "H": 1e21}',
        "a.toml": (
            'A = 12\nB = 1.50\nC = 1979-05-27\nD = true\nE = 07:32:00\nF = [1]\nG = "g"\nH = 1979-05-27T07:32:00Z\n'
            "I = 1979-05-27T00:32:00.5-07:00\nJ = 1979-05-27T07:32:00\n"
        ),
    }
    for name, text in texts.items():
        file = tmp_path / name
        file.write_text(text)
        names = [letter for letter in "ABCDEFGHIJ" if f"{letter} =" in text or f'"{letter}":' in text]
        theirs, mine = (one("generate", "yaml", stdin=template(names), config=file) for one in (judge, ours))
        assert (mine.code, mine.documents) == (theirs.code, theirs.documents) == (0, mine.documents), theirs.err


# The overrides folder


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"overridesFolder": "{base}/named"},
        {"overridesFolder": "{base}/named/../named/"},
        {"OVERRIDESFOLDER": "${{BASE}}/named"},
        {"overridesFolder": "${{MISSING}}/named"},
        {"overridesFolder": "named"},
        {"overridesFolder": "~/named"},
        {"overridesFolder": "   "},
        {"overridesFolder": " {base}/named"},
        {"overridesFolder": "{base}/absent"},
        {"overridesFolder": "{base}/clusterctl.yaml"},
        {"overridesFolder": "{base}/${{broken"},
        {"overridesFolder": ["{base}/named"]},
        {"overridesFolder": None},
        {"overrides-folder": "{base}/named"},
    ],
    ids=lambda settings: str(settings)[:60],
)
def test_overrides_come_from_where_the_judge_takes_them(judge, ours, tmp_path, monkeypatch, settings):
    release = tmp_path / "repository" / "infrastructure-shipyard" / "v1.0.0"
    folders = {"named": tmp_path / "named", "old": tmp_path / ".cluster-api" / "overrides"}
    places = {"repository": release} | {
        name: folder / "infrastructure-shipyard" / "v1.0.0" for name, folder in folders.items()
    }
    for note, folder in places.items():
        folder.mkdir(parents=True)
        (folder / "components.yaml").write_text(f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: {note}}}\n")
    (release / "metadata.yaml").write_text(metadata((1, 0, "v1beta2")))
    filled = {key: _filled(value, tmp_path) for key, value in settings.items()}
    providers = [provider(url=f"{release.parent}/latest/components.yaml")]
    file = tmp_path / "clusterctl.yaml"
    file.write_text(yaml.safe_dump({"providers": providers, **filled}))
    monkeypatch.chdir(tmp_path)
    words = ("generate", "provider", "--raw", "--infrastructure", "shipyard")
    surroundings = {"HOME": str(tmp_path), "BASE": str(tmp_path)}
    theirs, mine = (one(*words, config=file, **surroundings) for one in (judge, ours))
    assert mine.code == theirs.code, theirs.err + mine.err
    assert mine.documents == theirs.documents
    if not settings:
        assert [one["metadata"]["name"] for one in mine.documents] == ["old"]


def _filled(value, base: Path):
    if isinstance(value, list):
        return [_filled(one, base) for one in value]
    return value.format(base=base) if isinstance(value, str) else value


def test_the_overrides_of_today_hide_those_of_old(judge, ours, tmp_path):
    """Even if there is nothing in them."""
    release = tmp_path / "repository" / "infrastructure-shipyard" / "v1.0.0"
    old = tmp_path / ".cluster-api" / "overrides" / "infrastructure-shipyard" / "v1.0.0"
    for note, folder in {"repository": release, "old": old}.items():
        folder.mkdir(parents=True)
        (folder / "cluster-template.yaml").write_text(f"apiVersion: v1\nkind: Note\nmetadata: {{name: {note}}}\n")
    file = tmp_path / "clusterctl.yaml"
    file.write_text(listing(provider(url=f"{release}/components.yaml")))
    words = ("generate", "cluster", "mine", "--infrastructure", "shipyard:v1.0.0", "--target-namespace", "x")
    names = []
    for _ in range(2):
        theirs, mine = (one(*words, config=file, HOME=str(tmp_path)) for one in (judge, ours))
        assert (mine.code, mine.documents) == (theirs.code, theirs.documents) == (0, mine.documents), theirs.err
        names += [one["metadata"]["name"] for one in mine.documents]
        for one in (judge, ours):
            os.makedirs(one.home / "config" / "cluster-api" / "overrides", exist_ok=True)
    assert names == ["old", "repository"]


# Images, and names on the command line


IMAGES = {
    "nothing": None,
    "all": {"all": {"repository": "mirror.example.com/x/"}},
    "a component": {"all": {"tag": "v7"}, "infrastructure-shipyard": {"repository": "mirror.example.com/y"}},
    "one image": {"infrastructure-shipyard/manager": {"name": "other", "tag": "v8"}, "all": {"tag": "v7"}},
    "one image of another": {
        "bootstrap-shipyard/manager": {"tag": "v8"},
        "infrastructure-shipyard/other": {"tag": "v9"},
    },
    "letters in capitals": {"ALL": {"Repository": "mirror.example.com", "TAG": "v7"}},
    "a number": {"all": {"tag": 1.10}},
    "a boolean": {"all": {"tag": True}},
    "a date": {"all": {"tag": yaml.safe_load("2024-01-02")}},
    "a list": [{"all": {"tag": "v7"}}, {"infrastructure-shipyard": {"name": "other"}}],
    "an empty list": [],
    "a list of text": ["all"],
    "text": "all",
    "empty text": "",
    "nothing for all": {"all": None},
    "text for all": {"all": "v7"},
    "a list for all": {"all": [{"tag": "v7"}]},
    "a list for a tag": {"all": {"tag": ["v7"]}},
    "more keys": {"all": {"tag": "v7", "colour": "blue"}},
}


def test_images_are_overridden_as_the_judge_does(judge, ours, tmp_path):
    made = infrastructure("v1.0.0")
    write_repository(tmp_path, [made])
    differences, seen = [], set()
    for about, images in IMAGES.items():
        file = write_config(tmp_path / "clusterctl.yaml", tmp_path, [made], images=images)
        words = ("generate", "provider", "--infrastructure", "shipyard")
        theirs, mine = (one(*words, config=file) for one in (judge, ours))
        if (theirs.code, theirs.documents) != (mine.code, mine.documents):
            differences.append(f"{about}: {theirs.code} {theirs.err} … {mine.code} {mine.err}")
        if mine.code:
            assert_one_sentence(mine.err)
        seen |= set(re.findall(r"image: (.*)", mine.out))
    assert differences == []
    assert len(seen) > 5


def test_names_of_providers_are_read_as_the_judge_reads_them(judge, ours, tmp_path):
    made = infrastructure("v1.0.0")
    write_repository(tmp_path, [made])
    file = write_config(tmp_path / "clusterctl.yaml", tmp_path, [made])
    codes = set()
    for name in (
        *("shipyard", "shipyard:v1.0.0", "Shipyard:v1.0.0", "SHIPYARD", "shipyard:V1.0.0", "shipyard: v1.0.0"),
        *("", ":", "shipyard:", ":v1.0.0", "shipyard:v1.0.0:", "a:b:c", "ship yard", "ship.yard", "-shipyard"),
        *("shipyard ", "schiffswerft-ä", "a" * 64, "nobody", "aws,shipyard", "shipyard@v1.0.0"),
    ):
        words = ("generate", "provider", "--describe", f"--infrastructure={name}")
        theirs, mine = (one(*words, config=file) for one in (judge, ours))
        assert (name, mine.code, mine.out) == (name, theirs.code, theirs.out), theirs.err + mine.err
        codes.add(mine.code)
    assert codes == {0, 1}


@pytest.mark.parametrize("level", ["", "5", "+5", "-1", "007", "x", "1_0", "5.0", " 5", "٥", "0x5", "9" * 20])
def test_a_level_that_is_no_number_is_told(judge, ours, level):
    theirs, mine = (one("version", "-o", "short", CLUSTERCTL_LOG_LEVEL=level) for one in (judge, ours))
    assert (mine.code, mine.out) == (theirs.code, theirs.out)
    theirs, mine = (one("version", "-o", "short", "-v", "1", CLUSTERCTL_LOG_LEVEL=level) for one in (judge, ours))
    assert (mine.code, mine.out) == (theirs.code, theirs.out) == (0, mine.out)
