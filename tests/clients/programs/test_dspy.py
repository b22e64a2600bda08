"""Stanford's dspy. The embedded model is too small to reason: what is shown is the protocol and the parsed types."""

import dspy
import pytest


@pytest.fixture()
def language_model(url):
    lm = dspy.LM("openai/default", api_base=url, api_key="none", temperature=0, max_tokens=96, cache=False, num_retries=0)
    with dspy.context(lm=lm):
        yield lm


def test_a_call_returns_text(language_model):
    assert "Paris" in language_model("What is the capital of France?")[0]


def test_predict_finds_the_fields_that_the_model_marks(language_model):
    answer = dspy.ChainOfThought("text -> result")(text="I love this film, it is wonderful.")
    assert answer.result == "positive"
    assert answer.reasoning
    assert language_model.history[-1]["usage"]["completion_tokens"] > 0


def test_a_json_schema_gives_typed_fields(language_model):
    schema = {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"], "additionalProperties": False}
    held = language_model.copy(response_format={"type": "json_schema", "json_schema": {"name": "out", "schema": schema}})
    with dspy.context(lm=held, adapter=dspy.JSONAdapter()):
        answer = dspy.Predict("question -> sure: bool")(question="Is Paris in France?")
    assert isinstance(answer.sure, bool)


class ConstrainedAdapter(dspy.JSONAdapter):
    """JSONAdapter with a schema of the signature's own fields. dspy sends none where a field is an open object, as a tool's arguments are."""

    def __init__(self, **schemas):
        super().__init__()
        self.schemas = schemas

    def __call__(self, lm, lm_kwargs, signature, demos, inputs):
        properties = {name: self.schemas.get(name, {"type": "string", "maxLength": 40}) for name in signature.output_fields}
        schema = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
        held = {"type": "json_schema", "json_schema": {"name": "out", "schema": schema}}
        return dspy.ChatAdapter.__call__(self, lm, {**lm_kwargs, "response_format": held}, signature, demos, inputs)


def test_react_calls_a_tool_with_parsed_arguments(language_model):
    calls = []

    def population(city: str) -> int:
        calls.append(city)
        return 2_100_000

    adapter = ConstrainedAdapter(next_tool_name={"enum": ["population"]}, people={"type": "integer", "minimum": 0, "maximum": 9_999_999},
                                 next_tool_args={"type": "object", "properties": {"city": {"enum": ["Paris", "Rome"]}},
                                                 "required": ["city"], "additionalProperties": False})
    with dspy.context(adapter=adapter):
        answer = dspy.ReAct("question -> people: int", tools=[population], max_iters=2)(question="How many people live in Paris?")
    assert len(calls) == 2 and set(calls) <= {"Paris", "Rome"}
    assert answer.trajectory["observation_0"] == 2_100_000 and answer.trajectory["tool_name_1"] == "population"
    assert isinstance(answer.people, int)


def test_a_field_streams_as_it_grows(language_model):
    program = dspy.streamify(dspy.Predict("question -> answer"), async_streaming=False, include_final_prediction_in_output_stream=True,
                             stream_listeners=[dspy.streaming.StreamListener(signature_field_name="answer")])
    with dspy.context(adapter=dspy.ChatAdapter()):
        events = list(program(question="What is the capital of France?"))
    pieces = [e.chunk for e in events if isinstance(e, dspy.streaming.StreamResponse)]
    final = next(e for e in events if isinstance(e, dspy.Prediction))
    assert len(pieces) > 1 and "".join(pieces).strip() == final.answer


def test_bootstrapped_demonstrations_are_sent(language_model):
    train = [dspy.Example(question=f"What is {a}+{b}?", answer=a + b).with_inputs("question") for a, b in ((2, 2), (1, 3), (4, 5), (3, 3))]
    with dspy.context(adapter=dspy.ChatAdapter()):
        optimizer = dspy.BootstrapFewShot(metric=lambda example, answer, trace=None: example.answer == answer.answer,
                                          max_bootstrapped_demos=2, max_labeled_demos=0)
        program = optimizer.compile(dspy.Predict("question -> answer: int"), trainset=train)
        assert [demo.augmented for demo in program.demos] == [True, True], "the model's own right answers, not the labels"
        answer = program(question="What is 5+5?")
    assert isinstance(answer.answer, int)
    roles = [message["role"] for message in language_model.history[-1]["messages"]]
    assert roles == ["system", "user", "assistant", "user", "assistant", "user"]
