"""The Helm chart, as far as it can be checked without Helm."""

import re

import pytest
import yaml
from manifests import KUBERNETES, ROOT

CHART = KUBERNETES / "chart"
TEMPLATES = sorted((CHART / "templates").iterdir())


def actions(text: str) -> list[str]:
    return [inner.strip() for inner in re.findall(r"\{\{-?(.*?)-?\}\}", text, re.S)]


def test_the_chart_has_this_version():
    version = re.search(r"project\(inferflux VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
    assert yaml.safe_load((CHART / "Chart.yaml").read_text())["appVersion"] == version


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_every_value_that_a_template_uses_has_a_default(template):
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    for path in re.findall(r"\.Values\.([\w.]+)", template.read_text()):
        at = values
        for key in path.split("."):
            assert key in at, f"{template.name}: .Values.{path}"
            at = at[key]


def test_every_value_is_used():
    text = "".join(template.read_text() for template in TEMPLATES)
    for key in yaml.safe_load((CHART / "values.yaml").read_text()):
        assert f".Values.{key}" in text, key


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_every_block_is_closed(template):
    words = [action.split()[0] for action in actions(template.read_text())]
    assert sum(word in ("if", "with", "range", "define") for word in words) == words.count("end")
