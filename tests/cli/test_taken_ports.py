"""A port that somebody else took while the landscape was down."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from landscape_kit import Mooring, listening


def test_up_takes_others_and_everything_follows(running: Mooring) -> None:
    path = Path(running.run("kubeconfig").out.strip())
    etcd_file, cluster_file = running.directory / "etcd" / "ports.json", running.cluster / "ports.json"
    before = {**json.loads(etcd_file.read_bytes()), **json.loads(cluster_file.read_bytes())}
    running.run("down")

    with listening(before["client"]), listening(before["api_server"]):
        said = running.run("up", "--detach").out
        after = {**json.loads(etcd_file.read_bytes()), **json.loads(cluster_file.read_bytes())}
        assert after["client"] != before["client"]
        assert after["api_server"] != before["api_server"]
        assert after["controller_manager"] == before["controller_manager"]
        server = f"https://127.0.0.1:{after['api_server']}"
        assert server in said
        assert yaml.safe_load(path.read_text())["clusters"][0]["cluster"]["server"] == server
        assert running.status(state="Running")["server"] == server
        running.assert_data_is_there()
