"""Manifests against schemas: Kubernetes' own kinds by PyPI's kubernetes-validate, custom resources by schemas/.

The schemas of custom resources were written for these tests. They hold the fields that our manifests use, as the
CustomResourceDefinitions of each project describe them, and refuse every other field. With INFERFLUX_CRDS=FOLDER the
CustomResourceDefinitions (*.yaml) of a folder are used as well."""

import functools
import json
import os
from pathlib import Path

import jsonschema
import kubernetes_validate
import yaml

VERSIONS = ["1.29", "1.37"]
OWN = Path(__file__).resolve().parent / "schemas"


def is_custom(document: dict) -> bool:
    group = document["apiVersion"].partition("/")[0]
    return "." in group and not group.endswith(".k8s.io") or group in (
        "gateway.networking.k8s.io", "inference.networking.k8s.io")


def own_schema(document: dict) -> dict:
    path = OWN / f"{document['kind'].lower()}.yaml"
    assert path.exists(), f"there is no schema of {document['kind']}"
    return yaml.safe_load(path.read_text())


def strict(schema):
    """As the API server prunes or refuses unknown fields, an object with known properties has no others."""
    if isinstance(schema, list):
        return [strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    out = {key: strict(value) for key, value in schema.items()}
    if isinstance(out.get("properties"), dict) and "additionalProperties" not in out and out.get("type") == "object":
        if not out.get("x-kubernetes-preserve-unknown-fields"):
            out["additionalProperties"] = False
    if out.pop("x-kubernetes-int-or-string", False):
        out.pop("type", None)
    return out


def published_schemas(document: dict) -> list[dict]:
    folder = os.environ.get("INFERFLUX_CRDS")
    group, _, version = document["apiVersion"].partition("/")
    out = []
    for path in sorted(Path(folder).glob("*.yaml")) if folder else []:
        for crd in yaml.safe_load_all(path.read_text()):
            spec = (crd or {}).get("spec", {})
            if spec.get("group") == group and spec["names"]["kind"] == document["kind"]:
                schema = next(v for v in spec["versions"] if v["name"] == version)["schema"]["openAPIV3Schema"]
                schema["properties"]["metadata"] = {}
                out.append(strict(schema))
    assert out or not folder, f"{folder} has no CustomResourceDefinition of {document['apiVersion']} {document['kind']}"
    return out


def problems(document: dict) -> list[str]:
    return _problems(json.dumps(document, sort_keys=True))


@functools.cache  # a schema of Kubernetes takes a while to load
def _problems(text: str) -> list[str]:
    document = json.loads(text)
    found = []
    if is_custom(document):
        for schema in [own_schema(document), *published_schemas(document)]:
            errors = jsonschema.Draft202012Validator(schema).iter_errors(document)
            found += [f"{document['kind']} {error.json_path}: {error.message}" for error in errors]
        return found
    for version in VERSIONS:
        try:
            kubernetes_validate.validate(document, version, strict=True)
        except kubernetes_validate.SchemaNotFoundError as error:
            found.append(f"{document['kind']}, Kubernetes {version}: {error.message}")
        except kubernetes_validate.ValidationError as error:
            found.append(f"{document['kind']}, Kubernetes {version}, {'.'.join(map(str, error.path))}: {error.message}")
    return found
