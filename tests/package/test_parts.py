"""PACKAGE.spdx.json: valid by SPDX's own library, and the same libraries that dpkg-shlibdeps finds."""

import gzip
import json
import os
import re
import subprocess
import sys

import pytest
from debian_root import ROOT
from spdx_tools.spdx.parser.parse_anything import parse_file
from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document

sys.path.insert(0, str(ROOT / "cmake"))
import list_parts  # noqa: E402

PAGE = {"libjs-chart.js", "libjs-highlight.js", "libjs-marked", "node-dompurify"}


@pytest.fixture(scope="module", params=["inferflux", "libinferflux0"])
def listed(request, packages, tmp_path_factory):
    tree = tmp_path_factory.mktemp(request.param)
    subprocess.run(["dpkg-deb", "-x", packages[request.param], tree], check=True)
    folder = tree / "usr/share/doc" / request.param
    return request.param, packages[request.param], folder / f"{request.param}.spdx.json", folder / "third-party-notices.gz"


def test_it_is_valid_spdx(listed):
    document = parse_file(str(listed[2]))
    assert [message.validation_message for message in validate_full_spdx_document(document)] == []


def test_it_names_the_libraries_that_the_package_depends_on(listed):
    name, deb, path, _ = listed
    document = json.loads(path.read_text())
    loaded = {p["name"] for p in document["packages"] if "loaded" in p.get("sourceInfo", "").split(";")[0]}
    depends = subprocess.run(["dpkg-deb", "-f", deb, "Depends"], capture_output=True, text=True, check=True).stdout
    names = set(re.findall(r"(?:^|, )([^ ,(]+)", depends.strip())) - {"adduser"}
    assert len(loaded) > 10
    assert loaded == {re.sub(r"^(libspdlog1.10)-fmt9$", r"\1", word) for word in names}  # the ABI that libspdlog1.10 provides


def test_it_names_what_is_embedded_and_the_version_that_is_installed(listed):
    name, _, path, notices = listed
    document = json.loads(path.read_text())
    versions = {p["name"]: p["versionInfo"] for p in document["packages"]}
    embedded = {p["name"] for p in document["packages"] if "embedded" in p.get("sourceInfo", "")}
    assert embedded == (PAGE if name == "inferflux" else set())
    assert {"libexpected-dev", "libhwy-dev"} <= versions.keys()  # headers alone
    for package in versions.keys() - {name}:
        shown = subprocess.run(["dpkg-query", "-W", "-f", "${Version}\n", package], capture_output=True, text=True, check=True).stdout
        assert versions[package] in shown.split()
    text = gzip.decompress(notices.read_bytes()).decode()
    for package in {"libexpected-dev", "libhwy-dev"} | embedded:
        assert f"===== {package} {versions[package]} =====" in text


def test_a_library_whose_licence_is_not_known_is_an_error(monkeypatch):
    monkeypatch.setitem(os.environ, "SOURCE_DATE_EPOCH", "0")
    monkeypatch.setattr(list_parts, "LICENCES", {})
    with pytest.raises(SystemExit, match="look at its licence, and add glibc to LICENCES"):
        list_parts.document("inferflux", "1", {"libc6": {"loaded"}})
