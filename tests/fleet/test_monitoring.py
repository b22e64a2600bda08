"""The dashboard, the rules, the autoscaler's and the endpoint picker's metrics, against a server and Prometheus."""

import json
import math
import re
import subprocess

import manifests
import pytest
import requests
import yaml
from manifests import KUBERNETES, of_kind, render, tool
from pod import KEY
from prometheus import rule_groups

OURS = re.compile(r"\binferflux_\w+")
NEVER_WITHOUT_TRAFFIC = {"Accepted draft tokens"}


def dashboard() -> dict:
    (document,) = of_kind(render("monitoring"), "ConfigMap")
    assert document["metadata"]["labels"]["grafana_dashboard"] == "1"
    return json.loads(document["data"]["inferflux.json"])


def panel_queries() -> list[tuple[str, str]]:
    return [(panel["title"], target["expr"]) for panel in dashboard()["panels"] for target in panel["targets"]]


def filled(expression: str) -> str:
    """The query with the variables as Grafana fills them in."""
    for name, value in {"$namespace": "inferflux", "$model": ".*", "$__rate_interval": "30s"}.items():
        expression = expression.replace(name, value)
    assert "$" not in expression, expression
    return expression


@pytest.fixture(scope="module")
def busy(pod, prometheus):
    """Prometheus after some scrapes between requests."""
    for _ in range(6):
        for body in ({"prompt": "Hi. Hi. Hi. Hi. Hi. Hi.", "speculative": {"type": "prompt_lookup"}}, {"prompt": "One two"}):
            answer = requests.post(pod.url + "/v1/completions", json={**body, "max_tokens": 12, "ignore_eos": True},
                                   headers={"Authorization": f"Bearer {KEY}"}, timeout=60)
            assert answer.status_code == 200, answer.text
        before = float(prometheus.query("time()")[1])
        prometheus.await_result(f"timestamp(inferflux_model_ready) > {before}")
    return prometheus


@pytest.mark.parametrize("title,expression", panel_queries())
def test_every_panel_shows_something(busy, title, expression):
    result = busy.await_result(filled(expression))
    values = [float(sample["value"][1]) for sample in result]
    assert any(not math.isnan(value) for value in values) or title in NEVER_WITHOUT_TRAFFIC


def test_a_panel_with_an_unknown_metric_or_label_would_show_nothing(busy):
    assert busy.query('inferflux_kv_cache_utilisation{namespace="inferflux"}') == []
    assert busy.query("sum by (result) (inferflux_requests_total)")[0]["metric"] == {}
    with pytest.raises(AssertionError, match="parse error"):
        busy.query("sum by (model (inferflux_queue_depth)")


@pytest.mark.parametrize("title,expression", panel_queries())
def test_every_label_of_a_panel_is_there(busy, title, expression):
    for labels in re.findall(r"\bby \(([^)]*)\)", expression):
        for sample in busy.query(filled(expression)):
            assert set(labels.split(", ")) - {"le"} <= set(sample["metric"]), title


def test_the_dashboards_variables_find_values(busy):
    for variable in dashboard()["templating"]["list"]:
        if variable["type"] == "query":
            metric, label = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]).groups()
            assert all(sample["metric"][label] for sample in busy.await_result(filled(metric)))


def test_our_label_endpoint_is_not_renamed(busy):
    (sample, *_) = busy.query('inferflux_requests_total{outcome="length"}')
    assert "exported_endpoint" not in sample["metric"] and sample["metric"]["endpoint"] != "http"


def test_prometheus_evaluates_every_rule_and_none_fires_here(busy):
    busy.await_result("inferflux:time_to_first_token_seconds:p95")
    groups = requests.get(busy.url + "/api/v1/rules", timeout=10).json()["data"]["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert len(rules) == sum(len(group["rules"]) for group in rule_groups(render("monitoring"))["groups"])
    assert {rule["name"]: rule["lastError"] for rule in rules if rule.get("lastError")} == {}
    assert [rule["name"] for rule in rules if rule.get("state", "inactive") != "inactive"] == []


def test_the_server_exposes_every_metric_that_is_named(busy):
    text = "\n".join(json.dumps(document) for folder in ("monitoring", "autoscaling", "gateway") for document in render(folder))
    named = {name for name in OURS.findall(text) if name != "inferflux_model_load_events_total"}
    assert len(named) > 8
    assert {name for name in named if not busy.query(name)} == set()


def test_promtool_accepts_the_rules_and_their_tests_pass(tmp_path):
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(rule_groups(render("monitoring"))))
    tests = (manifests.ROOT / "tests/fleet/alerts.test.yaml").read_text()
    (tmp_path / "tests.yaml").write_text(tests)
    for command in (["check", "rules", "rules.yaml"], ["test", "rules", "tests.yaml"]):
        run = subprocess.run([tool("promtool"), *command], cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert run.returncode == 0, run.stdout + run.stderr
    alerts = {rule["alert"] for group in rule_groups(render("monitoring"))["groups"] for rule in group["rules"] if "alert" in rule}
    assert alerts == {case["alertname"] for test in yaml.safe_load(tests)["tests"] for case in test["alert_rule_test"]}


def adapter_rule() -> dict:
    (rule,) = yaml.safe_load((KUBERNETES / "autoscaling/adapter-values.yaml").read_text())["rules"]["custom"]
    return rule


def test_the_autoscalers_metrics_come_from_the_adapters_rule(busy):
    (autoscaler,) = of_kind(render("autoscaling"), "HorizontalPodAutoscaler")
    series = {sample["metric"]["__name__"] for sample in busy.query(adapter_rule()["seriesQuery"])}
    for metric in autoscaler["spec"]["metrics"]:
        name = metric["pods"]["metric"]["name"]
        assert name in series
        query = adapter_rule()["metricsQuery"]
        for mark, value in {"<<.Series>>": name, "<<.LabelMatchers>>": 'namespace="inferflux",pod=~"inferflux-0"',
                            "<<.GroupBy>>": "pod"}.items():
            query = query.replace(mark, value)
        assert [sample["metric"] for sample in busy.query(query)] == [{"pod": "inferflux-0"}]


def test_the_endpoint_picker_finds_gauges_of_the_protocols_units(pod):
    """The model-server protocol asks for gauges: waiting and running requests, and the KV cache's use from 0 to 1."""
    (config,) = [d for d in of_kind(render("gateway"), "ConfigMap")]
    picker = yaml.safe_load(config["data"]["picker-config.yaml"])
    plugins = {plugin["type"]: plugin.get("parameters", {}) for plugin in picker["plugins"]}
    text = pod.get(plugins["metrics-data-source"]["path"]).text
    engine = plugins["core-metrics-extractor"]
    (specs,) = [e for e in engine["engineConfigs"] if e["name"] == engine["defaultEngine"]]
    for spec in ("queuedRequestsSpec", "runningRequestsSpec", "kvUsageSpec"):
        assert f"# TYPE {specs[spec]} gauge" in text
        (value,) = re.findall(rf"^{specs[spec]}\{{[^}}]*\}} (\S+)$", text, re.M)
        assert 0 <= float(value) <= 1, "nothing runs here"
    assert {p["pluginRef"] for profile in picker["schedulingProfiles"] for p in profile["plugins"]} <= set(plugins)
