#!/usr/bin/env python3
"""Writes what programs and libraries contain that is not this project's own, as SPDX 2.3 (a software bill of materials).

It reads the finished build's own records, never a list by hand: the libraries that a program loads (ELF), and what Ninja
took as inputs: static libraries, scripts of the page, and the headers of each object. Each of these files belongs to a
Debian package, which gives name, version and source. LICENCES has a row for each source; a source without one is an error,
so no library is linked before its licence was checked. The script also writes third-party-notices.gz, with the copyright files
of what is in the programs themselves, since some licences ask for that.

usage: list_parts.py BUILD_FOLDER PACKAGE VERSION OUT_FOLDER TARGET ...      (targets as Ninja names them: bin/inferfluxd)
"""

import datetime
import gzip
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

# Debian source package: SPDX licence of the part that is used here, from its copyright file.
LICENCES = {
    "boost1.81": "BSL-1.0",
    "node-chart.js": "MIT",
    "cli11": "BSD-3-Clause",
    "fmtlib": "MIT",
    "gcc-12": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "glibc": "LGPL-2.1-or-later",
    "highlight.js": "BSD-3-Clause",
    "highway": "Apache-2.0",
    "libedit": "BSD-3-Clause",
    "linux": "GPL-2.0-only WITH Linux-syscall-note",
    "node-dompurify": "MPL-2.0 OR Apache-2.0",
    "node-marked": "MIT",
    "openssl": "Apache-2.0",
    "pcre2": "BSD-3-Clause",
    "prometheus-cpp": "MIT",
    "spdlog": "MIT",
    "sqlite3": "blessing",
    "tl-expected": "CC0-1.0",
    "utf8proc": "MIT",
    "yaml-cpp": "MIT",
    "zlib": "Zlib",
}
# The compiler's and the C library's own parts, whose licences ask for no notice in programs.
NO_NOTICE = {"gcc-12", "glibc", "linux"}
LINKS = {"loaded": "DYNAMIC_LINK", "linked": "STATIC_LINK", "compiled in": "STATIC_LINK", "embedded": "CONTAINS"}


def output(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def loaded_libraries(program):
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", program)))
    return {path for name, path in re.findall(r"(\S+) => (/\S+)", output("ldd", program)) if name in needed}


def build_inputs(build, targets):
    """All files that Ninja reads for the targets, headers too, by how they get into a program."""
    inputs = {pathlib.Path(build, line).resolve()
              for line in output("ninja", "-C", build, "-t", "inputs", *targets).splitlines() if not line.startswith("ninja:")}
    objects = {str(path.relative_to(pathlib.Path(build).resolve())) for path in inputs if path.suffix in {".o", ".gch"}}
    headers, counts = set(), False
    for line in output("ninja", "-C", build, "-t", "deps").splitlines():
        if not line.startswith(" "):
            counts = line.split(":")[0] in objects
        elif counts:
            headers.add(pathlib.Path(build, line.strip()).resolve())
    if not headers:
        sys.exit(f"list_parts: Ninja has no record of headers in {build}: build it first")
    return {"linked": {p for p in inputs if p.suffix == ".a"}, "embedded": {p for p in inputs if p.suffix == ".js"},
            "compiled in": headers}


def foreign(paths, own):
    real = {pathlib.Path(path).resolve() for path in paths}
    return sorted(str(path) for path in real if not any(path.is_relative_to(folder) for folder in own))


def packages_of(paths):
    """The Debian packages of files, from dpkg's lists (dpkg -S would take minutes). A library may be listed by the path from
    before /lib became a link to /usr/lib."""
    wanted = {name for path in paths for name in (path, path.removeprefix("/usr"))}
    owners = {}
    for listing in sorted(pathlib.Path("/var/lib/dpkg/info").glob("*.list")):
        package = listing.name.removesuffix(".list").split(":")[0]
        for path in wanted.intersection(listing.read_text().splitlines()):
            owners[path] = package
    for path in paths:
        if path not in owners and path.removeprefix("/usr") not in owners:
            sys.exit(f"list_parts: {path} is not of a Debian package, so its version and licence are unknown")
    return {owners.get(path) or owners[path.removeprefix("/usr")] for path in paths}


def describe(package):
    """name, version, source and its version, architecture"""
    shown = output("dpkg-query", "-W", "-f", "${Package}\t${Version}\t${source:Package}\t${source:Version}\t${Architecture}\n", package)
    return shown.splitlines()[0].split("\t")


def spdx_package(identity, name, version, licence, **more):
    return {"SPDXID": identity, "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "licenseConcluded": licence, "licenseDeclared": licence, "copyrightText": "NOASSERTION", **more}


def document(package, version, parts):
    root = f"SPDXRef-{package}"
    packages = [spdx_package(root, package, version, "Apache-2.0", primaryPackagePurpose="APPLICATION")]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", root)]
    for name, how in sorted(parts.items()):
        name, its_version, source, source_version, architecture = describe(name)
        if source not in LICENCES:
            sys.exit(f"list_parts: {package} has {name} {', '.join(sorted(how))}; look at its licence, and add {source} to LICENCES")
        identity = "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", f"deb-{name}")
        packages.append(spdx_package(
            identity, name, its_version, LICENCES[source], sourceInfo=f"{', '.join(sorted(how))}; built from {source} {source_version}",
            externalRefs=[{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                           "referenceLocator": f"pkg:deb/debian/{name}@{its_version}?arch={architecture}".replace("+", "%2B")}]))
        relations += [(root, kind, identity) for kind in sorted({LINKS[way] for way in how})]
    created = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    out = {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"{package}-{version}",
           "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: inferflux-list_parts"]},
           "packages": packages,
           "relationships": [{"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b} for a, kind, b in relations]}
    digest = hashlib.sha256(json.dumps(out, sort_keys=True).encode()).hexdigest()
    return {**out, "documentNamespace": f"https://spdx.org/spdxdocs/{package}-{version}-{digest[:32]}"}


def notices(parts):
    text = []
    for name, how in sorted(parts.items()):
        name, version, source, _, _ = describe(name)
        if how != {"loaded"} and source not in NO_NOTICE:
            text.append(f"===== {name} {version} =====\n\n" + pathlib.Path(f"/usr/share/doc/{name}/copyright").read_text())
    return gzip.compress("\n".join(text).encode(), 9, mtime=0)


def main():
    build, package, version, out, *targets = sys.argv[1:]
    source = pathlib.Path(__file__).resolve().parents[1]
    own = [pathlib.Path(build).resolve(), source]
    files = build_inputs(build, targets)
    files["loaded"] = {path for target in targets for path in loaded_libraries(str(pathlib.Path(build, target)))}
    parts = {}
    for how, paths in files.items():
        for name in packages_of(foreign(paths, own)):
            parts.setdefault(name, set()).add(how)
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{package}.spdx.json").write_text(json.dumps(document(package, version, parts), indent=1, sort_keys=True) + "\n")
    (out / "third-party-notices.gz").write_bytes(notices(parts))


if __name__ == "__main__":
    main()
