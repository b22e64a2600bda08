"""inferflux-bench on a GPU beside config/gpu_floor.json: the shares of the GPU's own rates that it may not fall below.

`./test --cuda` runs it. Without a GPU the measurements are skipped by name, and the rules are tested with made-up ones."""

import json
import re
import subprocess

import pytest
from server_process import ROOT, clean_environment, program

FLOORS = json.loads((ROOT / "config" / "gpu_floor.json").read_text())["floors"]
HOST_EXECUTOR = "cuda (host executor, for tests)"
TEST = re.compile(r"(?:pp(?P<prompt>\d+)|tg(?P<decode>\d+))(?:@d(?P<depth>\d+))?(?:xb(?P<batch>\d+))?")


def arguments(floor: dict) -> list[str]:
    """The options of inferflux-bench for the test of this name alone."""
    test = TEST.fullmatch(floor["test"])
    assert test, f"inferflux-bench has no test {floor['test']!r}"
    return ["--shape", floor["shape"], "--type", floor["type"], "-p", test["prompt"] or "0", "-n", test["decode"] or "0",
            "-d", test["depth"] or "0", "-b", test["batch"] or "1"]


def miss(floor: dict, rows: list[dict]) -> str | None:
    """Why these measurements do not reach the floor, or None."""
    name = f"{floor['shape']} {floor['type']} {floor['test']}"
    row = next((row for row in rows if row["test"] == floor["test"]), None)
    if row is None:
        return f"{name}: inferflux-bench measured only {[row['test'] for row in rows]}"
    if row["backend"] != "cuda" or row["device"] in ("", HOST_EXECUTOR):
        return f"{name}: measured on {row['backend']} ({row['device'] or 'the processor'}), not on a GPU"
    if row["bound"] != floor["bound"]:
        return f"{name}: bound by {row['bound']} on the {row['device']}, and the floor is of {floor['bound']}"
    if row["ceiling_share"] < floor["share"]:
        return (f"{name}: {row['ceiling_share']:.1%} of the {floor['bound']} of the {row['device']}, and the floor is "
                f"{floor['share']:.1%} ({row['tokens_per_second']:.1f} tokens a second)")
    return None


def gpu(shown: dict) -> dict | None:
    """The first GPU of the CUDA backend in what `inferctl backends --json` shows, with its free memory as its driver tells it."""
    engine = next(row for row in shown["backends"] if (row["target"], row["provider"]) == ("cuda", "native"))
    if not engine["available"] or engine["devices"][0]["name"] == HOST_EXECUTOR:
        return None
    device = engine["devices"][0]
    known = [each["free_bytes"] for each in shown["hardware"]["devices"] if each["uuid"] == device["uuid"] and each["free_bytes"]]
    return {"name": device["name"], "free_bytes": max(known, default=None)}


@pytest.mark.parametrize("floor", FLOORS, ids=lambda floor: f"{floor['shape']}-{floor['type']}-{floor['test']}")
def test_the_gpu_reaches_its_floor(floor):
    shown = subprocess.run([program("inferctl"), "backends", "--json"], capture_output=True, text=True, timeout=60, check=True,
                           env=clean_environment())
    device = gpu(json.loads(shown.stdout))
    if device is None:
        pytest.skip("there is no GPU here that this build's CUDA backend runs on")
    if device["free_bytes"] is not None and device["free_bytes"] < floor["needs_gib"] * 2**30:
        pytest.skip(f"the {device['name']} has {device['free_bytes'] / 2**30:.0f} GiB free, and this needs {floor['needs_gib']}")
    ended = subprocess.run([program("inferflux-bench"), "--backend", "cuda", "-o", "json", *arguments(floor)],
                           capture_output=True, text=True, timeout=1800, env=clean_environment())
    assert ended.returncode == 0, ended.stderr
    rows = json.loads(ended.stdout)
    print(json.dumps(rows))
    assert miss(floor, rows) is None


FLOOR = {"shape": "s", "type": "BF16", "test": "tg64@d1024xb64", "bound": "bandwidth", "share": 0.5}
ROW = {"test": "tg64@d1024xb64", "backend": "cuda", "device": "NVIDIA H100", "bound": "bandwidth", "ceiling_share": 0.5,
       "tokens_per_second": 100.0}


def test_a_measurement_at_the_floor_passes():
    assert miss(FLOOR, [{**ROW, "test": "pp512", "ceiling_share": 0.0}, ROW]) is None


@pytest.mark.parametrize("change, said", [
    ({"ceiling_share": 0.499}, "s BF16 tg64@d1024xb64: 49.9% of the bandwidth of the NVIDIA H100, and the floor is 50.0% (100.0 tokens"),
    ({"ceiling_share": 0.0}, "0.0% of the bandwidth"),
    ({"bound": "compute"}, "bound by compute"),
    ({"device": HOST_EXECUTOR, "ceiling_share": 1.0}, "not on a GPU"),
    ({"backend": "cpu", "device": "", "ceiling_share": 1.0}, "measured on cpu (the processor), not on a GPU"),
    ({"test": "tg64"}, "measured only ['tg64']")])
def test_a_measurement_below_the_floor_or_of_something_else_fails(change, said):
    assert said in miss(FLOOR, [{**ROW, **change}])


def test_a_gpu_is_told_from_the_host_executor():
    def shown(name: str, available: bool = True) -> dict:
        cuda = {"target": "cuda", "provider": "native", "available": available, "devices": [{"name": name, "uuid": "GPU-1"}] * available}
        return {"backends": [{**cuda, "provider": "llama_cpp"}, cuda],
                "hardware": {"devices": [{"uuid": None, "free_bytes": 7}, {"uuid": "GPU-1", "free_bytes": 5}, {"uuid": "GPU-1", "free_bytes": None}]}}

    assert gpu(shown("", available=False)) is None
    assert gpu(shown(HOST_EXECUTOR)) is None
    assert gpu(shown("NVIDIA L4")) == {"name": "NVIDIA L4", "free_bytes": 5}


def test_the_options_are_those_of_the_test():
    assert arguments(FLOOR)[4:] == ["-p", "0", "-n", "64", "-d", "1024", "-b", "64"]
    assert arguments({**FLOOR, "test": "pp4096"})[4:] == ["-p", "4096", "-n", "0", "-d", "0", "-b", "1"]
    with pytest.raises(AssertionError, match="no test 'decode'"):
        arguments({**FLOOR, "test": "decode"})


def test_each_floor_is_one_that_can_be_measured():
    shapes = subprocess.run([program("inferflux-bench"), "--help"], capture_output=True, text=True, timeout=60, check=True).stdout
    for floor in FLOORS:
        assert floor["shape"] in shapes and floor["bound"] in ("bandwidth", "compute") and arguments(floor)
        assert 0 < floor["share"] <= floor["goal"] <= 1
