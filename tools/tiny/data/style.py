"""One-line system prompts that change the form of an answer."""

from random import Random

from .exchange import Exchange
from .split import Phrases

PLAIN = Phrases(
    train=["You are a helpful assistant.", "You are InferFlux Tiny, a helpful assistant.", "You are a friendly assistant.", "Be helpful.",
           "You are an assistant that answers questions.", "You are InferFlux Tiny.", "Help the user.", "You are a small and friendly language model.",
           "You are a chat assistant.", "Answer the user's questions."],
    held_out=["You are a kind and helpful assistant.", "You are a useful assistant.", "You are InferFlux Tiny. Help the user."],
)
ONE_WORD = Phrases(
    train=["Answer in one word.", "Answer with one word.", "Reply in one word.", "Answer in a single word.", "Use one word only.", "One word answers only.",
           "Give only one word as the answer.", "You are a helpful assistant. Answer in one word.", "Reply with a single word.", "Be brief: one word.",
           "Always answer in one word.", "Answer with one word only.", "Please reply in one word.", "You are an assistant. Reply in one word.",
           "Always reply with one word.", "Answer each question in one word.", "Please use a single word."],
    held_out=["Answer in one word only.", "Reply with one word.", "Always reply in a single word.", "You are an assistant. Answer with one word.",
              "Please answer in one word."],
)
UPPER = Phrases(
    train=["Answer in upper case.", "Reply in upper case.", "Use upper case letters only.", "Answer in capital letters.", "Write everything in upper case.",
           "Always answer in upper case.", "You are a helpful assistant. Answer in upper case.", "Reply in all caps.", "Answer in uppercase.",
           "Please reply in upper case.", "Always reply in upper case.", "You are an assistant. Reply in capital letters."],
    held_out=["Reply in uppercase.", "Please answer in upper case.", "Always reply in capital letters.", "You are an assistant. Answer in all caps."],
)
SENTENCE = Phrases(
    train=["Answer in one sentence.", "Reply in one sentence.", "Answer with a full sentence.", "Use one sentence.", "Always answer in one sentence.",
           "You are a helpful assistant. Answer in one sentence.", "Answer in a single sentence.", "Please reply in one sentence.", "Reply with one sentence.", "Reply in a full sentence."],
    held_out=["Please answer in one sentence.", "Reply with a full sentence.", "Reply in a single sentence."],
)
# Said within the question instead: before it or after it.
ONE_WORD_INLINE = Phrases(
    train=["{q} Answer in one word.", "In one word: {q}", "{q} One word, please.", "{q} Reply with one word.", "Answer in one word: {q}",
           "{q} Please reply in one word.", "Only one word: {q}", "{q} Just one word.", "{q} Answer in a single word."],
    held_out=["{q} Answer with one word.", "{q} Please answer in one word.", "One word: {q}"],
)
# Tasks whose answers a style may change, and the words of which stay few enough to be known in capitals.
UPPER_TASKS = ("capitals", "sentiment", "arithmetic", "identity", "small_talk")


def styled(rng: Random, split: str, style: str, exchange: Exchange) -> Exchange:
    """The same question, its answer in the style that the system prompt asks for."""
    if style == "one_word" and exchange.short is not None:
        return Exchange("style_one_word", exchange.user, exchange.short, rule="exact")
    if style == "upper":
        expect = [part.upper() for part in exchange.expect or [exchange.answer]]
        return Exchange("style_upper", exchange.user, exchange.answer.upper(), rule="contains", expect=expect)
    if style == "sentence":
        answer = f"The text is {exchange.answer}." if exchange.task == "sentiment" else exchange.answer
        return Exchange("style_sentence", exchange.user, answer, rule=exchange.rule, expect=exchange.expect or [answer])
    return exchange


def inline(rng: Random, split: str, exchange: Exchange) -> Exchange:
    return Exchange("style_one_word", ONE_WORD_INLINE.pick(rng, split).format(q=exchange.user), exchange.short, rule="exact")


SYSTEMS = {"one_word": ONE_WORD, "upper": UPPER, "sentence": SENTENCE}
