"""lm-eval's local-completions model: log likelihoods by echoed log probabilities, and generation."""

import pytest
from lm_eval.api.instance import Instance
from lm_eval.models.openai_completions import LocalCompletionsAPI


@pytest.fixture()
def model(url):
    return LocalCompletionsAPI(base_url=url + "/completions", model="default", tokenizer_backend=None, tokenized_requests=False,
                               num_concurrent=1, max_retries=1, max_length=512)


def test_generation_stops_where_it_is_told_to(model):
    request = Instance(request_type="generate_until", doc={}, idx=0,
                       arguments=("The capital of France is", {"until": ["."], "max_gen_toks": 16, "temperature": 0}))
    (answer,) = model.generate_until([request], disable_tqdm=True)
    assert isinstance(answer, str) and "." not in answer


def test_log_likelihoods_with_the_servers_own_tokenizer(url):
    model = LocalCompletionsAPI(base_url=url + "/completions", model="default", tokenizer_backend="remote", tokenized_requests=True,
                                num_concurrent=1, max_retries=1, max_length=512)
    text = "The capital of France is Paris."
    assert model.tokenizer.decode(model.tok_encode(text)) == text
    requests = [Instance(request_type="loglikelihood", doc={}, idx=i, arguments=("The capital of France is", word)) for i, word in enumerate((" Paris", " xylophone"))]
    (right, _), (wrong, _) = model.loglikelihood(requests, disable_tqdm=True)
    assert wrong < right < 0
