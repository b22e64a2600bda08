"""guidellm, which load-tests servers, against ours with the embedded model. It needs torch, so an environment of its own has it:

    python3 -m venv build/guidellm && build/guidellm/bin/pip install -r tools/guidellm/requirements.lock
    build/guidellm/bin/python -m pytest -q tools/guidellm

Elsewhere the test is skipped.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("guidellm.benchmark", reason="it is in an environment of its own")  # this folder is named so too
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "e2e"))
from server_process import ServerProcess  # noqa: E402

REQUESTS = 12


@pytest.mark.parametrize(("path", "profile"), [("/v1/chat/completions", "kind=concurrent,streams=2"), ("/v1/completions", "kind=synchronous")])
def test_a_benchmark_completes_each_request(tmp_path, path, profile):
    prompts, report = tmp_path / "prompts.jsonl", tmp_path / "report.json"
    prompts.write_text("".join(json.dumps({"prompt": f"What is {i}+{i}?", "output_tokens_count": 16}) + "\n" for i in range(REQUESTS)))
    with ServerProcess() as server:
        command = [str(Path(sys.executable).parent / "guidellm"), "run", "--backend", f"kind=openai_http,target={server.url},request_format={path}",
                   "--profile", profile, "--constraint", f"kind=max_requests,count={REQUESTS}", "--data", f"kind=json_file,path={prompts}",
                   "--output", f"kind=json,path={report}", "--disable-console"]
        run = subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, "HF_HUB_OFFLINE": "1"})
        assert run.returncode == 0, run.stdout + run.stderr
        tokens = server.metric("inferflux_model_completion_tokens_total")
    benchmark = json.loads(report.read_text())["benchmarks"][0]
    state, done = benchmark["scheduler_state"], benchmark["requests"]["successful"]
    assert (state["successful_requests"], state["errored_requests"], state["cancelled_requests"]) == (REQUESTS, 0, 0)
    assert [request["output_metrics"]["text_tokens"] for request in done] == [16] * REQUESTS, "it asks for an exact length"
    assert tokens >= 16 * REQUESTS
