"""What a schema cannot say. Each check takes rendered documents and returns the problems that it found."""

import manifests
import schemas
from manifests import NOT_OURS, name_of, of_kind, pods_of

MARGIN_SECONDS = 10  # between the last request's end and SIGKILL


def schema(documents: list[dict]) -> list[str]:
    return [problem for document in documents for problem in schemas.problems(document)]


def hardening(documents: list[dict]) -> list[str]:
    """What Pod Security's level "restricted" asks for, a read-only root, and no token of the API where it is not needed."""
    found = []
    for name, _, spec in pods_of(documents):
        pod = spec.get("securityContext", {})
        if not pod.get("runAsNonRoot") or not pod.get("runAsUser"):
            found.append(f"{name}: may run as root")
        if pod.get("seccompProfile", {}).get("type") != "RuntimeDefault":
            found.append(f"{name}: no seccomp profile")
        if spec.get("automountServiceAccountToken") is not False and "picker" not in name:
            found.append(f"{name}: has a token of the API server")
        for container in spec["containers"]:
            own = container.get("securityContext", {})
            if own.get("readOnlyRootFilesystem") is not True:
                found.append(f"{name}: the root file system is writable")
            if own.get("allowPrivilegeEscalation") is not False:
                found.append(f"{name}: privileges may escalate")
            if own.get("capabilities", {}).get("drop") != ["ALL"]:
                found.append(f"{name}: keeps capabilities")
            if "memory" not in container.get("resources", {}).get("limits", {}):
                found.append(f"{name}: no memory limit")
    return found


def drain(documents: list[dict]) -> list[str]:
    """SIGKILL comes after the preStop pause, the server's grace and a margin."""
    found = []
    for name, _, spec in pods_of(documents):
        for container in spec["containers"]:
            if container.get("command", [])[:1] != ["inferfluxd"]:
                continue
            stop = container.get("lifecycle", {}).get("preStop", {}).get("exec", {}).get("command", [])
            if len(stop) != 2 or stop[0] != "sleep":
                found.append(f"{name}: no preStop pause, so requests arrive after SIGTERM")
                continue
            grace = manifests.server_settings(documents)["server"]["grace_seconds"]
            needed = int(stop[1]) + grace + MARGIN_SECONDS
            if spec.get("terminationGracePeriodSeconds", 30) < needed:
                found.append(f"{name}: terminationGracePeriodSeconds is below {needed}")
    return found


def _selected(documents: list[dict], labels: dict) -> list[tuple[str, dict, dict]]:
    return [pod for pod in pods_of(documents) if labels and labels.items() <= pod[1].items()]


def _ports(spec: dict) -> set:
    ports = [port for container in spec["containers"] for port in container.get("ports", [])]
    return {port["containerPort"] for port in ports} | {port.get("name") for port in ports}


def selectors(documents: list[dict]) -> list[str]:
    """Whatever selects pods selects some, and names ports that these have."""
    found = []

    def check(document, labels, ports):
        pods = _selected(documents, labels)
        if not pods:
            found.append(f"{name_of(document)}: selects no pod")
        for name, _, spec in pods:
            found.extend(f"{name_of(document)}: {name} has no port {port}" for port in ports if port not in _ports(spec))

    for document in documents:
        spec = document.get("spec", {})
        if document["kind"] == "Service":
            check(document, spec["selector"], [port.get("targetPort", port["port"]) for port in spec["ports"]])
        elif document["kind"] in ("Deployment", "PodDisruptionBudget"):
            check(document, spec["selector"]["matchLabels"], [])
        elif document["kind"] == "InferencePool":
            check(document, spec["selector"]["matchLabels"], [port["number"] for port in spec["targetPorts"]])
        elif document["kind"] == "NetworkPolicy":
            ports = [port["port"] for rule in spec.get("ingress", []) for port in rule.get("ports", [])]
            check(document, spec["podSelector"]["matchLabels"], ports)
        elif document["kind"] == "ServiceMonitor":
            services = [service for service in of_kind(documents, "Service")
                        if spec["selector"]["matchLabels"].items() <= service["metadata"].get("labels", {}).items()]
            named = {port["name"] for service in services for port in service["spec"]["ports"]}
            found += [f"{name_of(document)}: no Service has the port {endpoint['port']}"
                      for endpoint in spec["endpoints"] if endpoint["port"] not in named]
    for name, _, spec in pods_of(documents):
        for container in spec["containers"]:
            for probe in ("livenessProbe", "readinessProbe"):
                where = container.get(probe, {}).get("httpGet") or container.get(probe, {}).get("grpc")
                if where and where["port"] not in _ports(spec):
                    found.append(f"{name}: {probe} asks port {where['port']}")
    return found


def references(documents: list[dict]) -> list[str]:
    """Whatever names another object names one of these."""
    known = {name_of(document) for document in documents} | NOT_OURS
    wanted = []
    for name, _, spec in pods_of(documents):
        if "serviceAccountName" in spec:
            wanted.append((name, f"ServiceAccount/{spec['serviceAccountName']}"))
        for volume in spec.get("volumes", []):
            if "configMap" in volume:
                wanted.append((name, f"ConfigMap/{volume['configMap']['name']}"))
            if "secret" in volume:
                wanted.append((name, f"Secret/{volume['secret']['secretName']}"))
            if "persistentVolumeClaim" in volume:
                wanted.append((name, f"PersistentVolumeClaim/{volume['persistentVolumeClaim']['claimName']}"))
    for document in documents:
        spec = document.get("spec", {})
        if document["kind"] == "HorizontalPodAutoscaler":
            wanted.append((name_of(document), "{kind}/{name}".format(**spec["scaleTargetRef"])))
        if document["kind"] == "InferencePool":
            wanted.append((name_of(document), f"Service/{spec['endpointPickerRef']['name']}"))
        if document["kind"] == "HTTPRoute":
            wanted += [(name_of(document), f"{ref.get('kind', 'Service')}/{ref['name']}")
                       for rule in spec["rules"] for ref in rule["backendRefs"]]
    found = [f"{name}: there is no {target}" for name, target in wanted if target not in known]
    namespaces = {document["metadata"].get("namespace") for document in documents if document["kind"] != "Namespace"}
    if namespaces != {"inferflux"}:
        found.append(f"namespaces: {namespaces}")
    return found


ALL = [schema, hardening, drain, selectors, references]
