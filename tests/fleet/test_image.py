"""The image against the manifests: the same user, and a health check. ./test --package builds and runs it."""

import re

from manifests import ROOT, render

CONTAINERFILE = (ROOT / "deploy/container/Containerfile").read_text()


def test_the_image_runs_as_the_pods_user_and_not_as_root():
    pods = [o["spec"]["template"]["spec"] for o in render("base") if o["kind"] == "Deployment"]
    assert len(pods) == 1
    who = pods[0]["securityContext"]
    assert re.findall(r"^USER (\S+)", CONTAINERFILE, re.M) == [f"{who['runAsUser']}:{who['runAsGroup']}"]


def test_the_image_installs_the_package_and_nothing_by_hand():
    installed = re.findall(r"apt-get install (?:-\S+ )*(.*?) \\?$", CONTAINERFILE, re.M)
    assert installed == ["/packages/inferflux_*.deb"]
