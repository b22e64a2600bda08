"""Text for measurements that is not in the embedded model's training data."""
import numpy as np

from tools.llama_library import CONTEXT
from tools.tiny.chatml import segments
from tools.tiny.data.chat import conversations
from tools.tiny.data.split import HELD_OUT

SEED = 77_000


def held_out(tokens, budget):
    """Conversations as (token ids, which of them are the assistant's), up to `budget` tokens of the latter."""
    chunks, count = [], 0
    for conversation in conversations(SEED, HELD_OUT):
        ids, learned = [], []
        for text, said in segments(conversation):
            piece = tokens(text)
            ids += piece
            learned += [said] * len(piece)
        if len(ids) <= CONTEXT:
            chunks.append((ids, np.asarray(learned)))
            count += sum(learned[1:])
        if count >= budget:
            return chunks
