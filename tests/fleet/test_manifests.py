"""Every manifest renders, is valid, and fits the others; and a manifest with a fault is found."""

import copy
import re

import checks
import manifests
import pytest
import yaml
from manifests import FOLDERS, KUBERNETES, ROOT, SERVERS


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("check", checks.ALL, ids=lambda check: check.__name__)
def test_a_cluster_with_everything_has_no_problem(server, check):
    assert check(manifests.cluster(server)) == []


def without_hashes(documents):
    """ConfigMaps are named by a hash, which the versions of kustomize compute in two ways."""
    out = yaml.safe_load(re.sub(r"(inferflux-(?:config|picker))-[a-z0-9]{10}\b", r"\1-HASH", yaml.safe_dump(documents)))
    for document in out:
        for empty in ("annotations", "labels"):
            if document["metadata"].get(empty) == {}:
                del document["metadata"][empty]
    return sorted(out, key=manifests.name_of)


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_kubectl_here_renders_the_same(folder):
    first, *others = [without_hashes(manifests.render(folder, kubectl)) for kubectl in manifests.kubectls()]
    assert first
    for other in others:
        assert other == first


def test_every_folder_with_a_kustomization_is_tested():
    assert {str(path.parent.relative_to(KUBERNETES)) for path in KUBERNETES.rglob("kustomization.yaml")} == set(FOLDERS)


def test_the_image_has_this_version():
    version = re.search(r"project\(inferflux VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
    for folder in [*SERVERS, "model-loader"]:
        for name, _, spec in manifests.pods_of(manifests.render(folder)):
            assert [c["image"] for c in spec["containers"]] == [f"inferflux:{version}"], name


def test_a_gpu_is_requested_whole_and_never_replaced_by_the_cpu():
    (_, _, spec), = manifests.pods_of(manifests.render("overlays/nvidia"))
    assert spec["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == 1
    assert any(t["key"] == "nvidia.com/gpu" for t in spec["tolerations"])
    backend = manifests.server_settings(manifests.render("overlays/nvidia"))["runtime"]["backend"]
    assert backend not in ("auto", "cpu")


def deployment(documents):
    return next(d for d in documents if manifests.name_of(d) == "Deployment/inferflux")


def pod_of(documents):
    return deployment(documents)["spec"]["template"]["spec"]


def container(documents):
    return pod_of(documents)["containers"][0]


def find(documents, name):
    return next(d for d in documents if manifests.name_of(d) == name)


FAULTS = [
    (checks.schema, "replica", lambda d: deployment(d)["spec"].update(replica=2)),
    (checks.schema, "containerPort", lambda d: container(d)["ports"][0].update(containerPort="http")),
    (checks.schema, "targetPort", lambda d: find(d, "InferencePool/inferflux")["spec"].update(targetPort=8080)),
    (checks.schema, "paths", lambda d: find(d, "ServiceMonitor/inferflux")["spec"]["endpoints"][0].update(paths="/m")),
    (checks.schema, "exp", lambda d: find(d, "PrometheusRule/inferflux")["spec"]["groups"][0]["rules"][0].update(exp="1")),
    (checks.schema, "timeouts", lambda d: find(d, "HTTPRoute/inferflux")["spec"]["rules"][0]["timeouts"].update(request="1 hour")),
    (checks.schema, "Couldn't find schema", lambda d: find(d, "HorizontalPodAutoscaler/inferflux").update(apiVersion="autoscaling/v2beta2")),
    (checks.hardening, "run as root", lambda d: pod_of(d)["securityContext"].pop("runAsNonRoot")),
    (checks.hardening, "root file system", lambda d: container(d)["securityContext"].pop("readOnlyRootFilesystem")),
    (checks.hardening, "token", lambda d: pod_of(d).pop("automountServiceAccountToken")),
    (checks.drain, "terminationGracePeriodSeconds", lambda d: pod_of(d).update(terminationGracePeriodSeconds=60)),
    (checks.drain, "preStop", lambda d: container(d).pop("lifecycle")),
    (checks.selectors, "no port metrics", lambda d: find(d, "Service/inferflux")["spec"]["ports"][0].update(targetPort="metrics")),
    (checks.selectors, "no port 8000", lambda d: find(d, "InferencePool/inferflux")["spec"]["targetPorts"][0].update(number=8000)),
    (checks.selectors, "no Service has the port web", lambda d: find(d, "ServiceMonitor/inferflux")["spec"]["endpoints"][0].update(port="web")),
    (checks.selectors, "selects no pod", lambda d: find(d, "PodDisruptionBudget/inferflux")["spec"]["selector"].update(matchLabels={"a": "b"})),
    (checks.references, "there is no Deployment/other", lambda d: find(d, "HorizontalPodAutoscaler/inferflux")["spec"]["scaleTargetRef"].update(name="other")),
    (checks.references, "there is no Service/other", lambda d: find(d, "InferencePool/inferflux")["spec"]["endpointPickerRef"].update(name="other")),
    (checks.references, "there is no ConfigMap", lambda d: pod_of(d)["volumes"][-2 if "configMap" in pod_of(d)["volumes"][-2] else 0]["configMap"].update(name="other")),
]


@pytest.mark.parametrize("check,said,break_it", FAULTS, ids=[f"{check.__name__}: {said}" for check, said, _ in FAULTS])
def test_a_fault_is_found(check, said, break_it):
    documents = copy.deepcopy(manifests.cluster("overlays/cpu"))
    break_it(documents)
    assert any(said in problem for problem in check(documents)), check(documents)
