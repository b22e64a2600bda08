"""POST /v1/completions: raw text, no template."""

import pytest


def complete(client, model, prompt, **more):
    return client.completions.create(model=model, prompt=prompt, temperature=0, **more)


def test_a_string_a_list_and_ids_are_prompts(client, model_id):
    one = complete(client, model_id, "The capital of France is")
    assert one.usage.completion_tokens <= 16 and one.object == "text_completion"
    two = complete(client, model_id, ["The capital of France is", "Once upon a time"])
    assert [c.index for c in two.choices] == [0, 1]
    assert two.choices[0].text == one.choices[0].text, "a batch changes nothing"
    ids = complete(client, model_id, [100, 101, 102], max_tokens=4)
    assert ids.usage.prompt_tokens == 3
    assert len(complete(client, model_id, [[100, 101], [102]], max_tokens=4).choices) == 2


def test_a_stream_is_the_same_text(client, model_id):
    whole = complete(client, model_id, "Once upon a time", max_tokens=20)
    chunks = list(complete(client, model_id, "Once upon a time", max_tokens=20, stream=True))
    assert "".join(c.choices[0].text for c in chunks) == whole.choices[0].text
    assert [c.choices[0].finish_reason for c in chunks if c.choices[0].finish_reason] == [whole.choices[0].finish_reason]


def test_an_echoed_prompt_is_scored(client, model_id):
    prompt = "The capital of France is"
    echoed = complete(client, model_id, prompt, echo=True, logprobs=2, max_tokens=3)
    plain = complete(client, model_id, prompt, logprobs=2, max_tokens=3)
    choice, scores, count = echoed.choices[0], echoed.choices[0].logprobs, echoed.usage.prompt_tokens
    assert choice.text == prompt + plain.choices[0].text
    assert scores.token_logprobs[0] is None and scores.top_logprobs[0] is None
    assert all(value <= 0 for value in scores.token_logprobs[1:]) and all(1 <= len(top) <= 2 for top in scores.top_logprobs[1:])
    assert scores.token_logprobs[count:] == plain.choices[0].logprobs.token_logprobs
    assert scores.text_offset == sorted(scores.text_offset)
    chunks = complete(client, model_id, prompt, echo=True, logprobs=2, max_tokens=3, stream=True)
    pieces = [c.choices[0] for c in chunks]
    assert "".join(piece.text for piece in pieces) == choice.text
    assert sum((piece.logprobs.token_logprobs for piece in pieces if piece.logprobs), []) == scores.token_logprobs
    assert complete(client, model_id, prompt, echo=True, max_tokens=3).choices[0].text == choice.text


def test_a_prompts_tokens_are_worth_what_they_would_be_as_answers(client, model_id):
    ids = [100, 101, 102, 103, 104]
    scored = complete(client, model_id, ids, max_tokens=1, extra_body={"prompt_logprobs": 3}).choices[0].prompt_logprobs
    assert scored[0] is None and len(scored) == len(ids)
    for at in range(1, len(ids)):
        forced = complete(client, model_id, ids[:at], max_tokens=1, logprobs=0, logit_bias={str(ids[at]): 100})
        assert scored[at][str(ids[at])]["logprob"] == pytest.approx(forced.choices[0].logprobs.token_logprobs[0], abs=1e-5)
        assert 3 <= len(scored[at]) <= 4 and all(entry["logprob"] <= 0 for entry in scored[at].values())


def test_ignore_eos_goes_on_to_the_limit(client, model_id):
    answer = complete(client, model_id, "Hello", max_tokens=60, extra_body={"ignore_eos": True})
    assert answer.usage.completion_tokens == 60 and answer.choices[0].finish_reason == "length"


def test_logprobs_in_their_older_form(client, model_id):
    answer = complete(client, model_id, "The capital of France is", logprobs=2, max_tokens=5)
    logprobs = answer.choices[0].logprobs
    text_tokens = answer.usage.completion_tokens - (answer.choices[0].finish_reason == "stop")  # the end token has no text
    assert len(logprobs.tokens) == len(logprobs.token_logprobs) == len(logprobs.text_offset) == text_tokens
    assert all(len(top) <= 2 and token in top for top, token in zip(logprobs.top_logprobs, logprobs.tokens))


@pytest.mark.parametrize("more", [{"top_k": 1}, {"min_p": 1.0}, {"top_p": 0.0}])
def test_filters_that_leave_one_token_are_greedy(client, model_id, more):
    own = {k: v for k, v in more.items() if k != "top_p"}
    standard = {k: v for k, v in more.items() if k == "top_p"}
    sampled = client.completions.create(model=model_id, prompt="Once upon a time", temperature=1.9, max_tokens=12,
                                        extra_body=own, **standard)
    assert sampled.choices[0].text == complete(client, model_id, "Once upon a time", max_tokens=12).choices[0].text
