"""The contract between a pool and its workers, as docs/worker-contract.schema.json says it."""

import json
from pathlib import Path

import jsonschema

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs/worker-contract.schema.json").read_text())


def check(message: dict, name: str) -> None:
    """Fails if the message is not what the contract calls `name`."""
    jsonschema.Draft202012Validator({**SCHEMA, "$ref": f"#/$defs/{name}"}).validate(message)


def check_event(event: dict) -> None:
    check(event, event["type"])
