"""A small Llama. Parameter names are those of transformers' LlamaForCausalLM."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .config import Shape


def rotary_tables(shape: Shape) -> tuple[Tensor, Tensor]:
    """cos and sin, [context, head_size / 2]."""
    exponents = torch.arange(0, shape.head_size, 2, dtype=torch.float32) / shape.head_size
    angles = torch.outer(torch.arange(shape.context, dtype=torch.float32), shape.rope_base**-exponents)
    return angles.cos(), angles.sin()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """x [..., tokens, heads, head_size]; the two halves of a head are the pairs' two parts."""
    first, second = x.chunk(2, dim=-1)
    cos, sin = cos.unsqueeze(-2).to(x.dtype), sin.unsqueeze(-2).to(x.dtype)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Causal attention of the last q tokens; q [rows, heads, tokens, head_size], k and v [rows, kv_heads, seen, head_size].

    Written out, since on the CPU and at these lengths it trains faster than the fused function.
    """
    rows, heads, length, size = q.shape
    kv_heads, seen = k.shape[1], k.shape[2]
    scores = (q * size**-0.5).reshape(rows, kv_heads, -1, size) @ k.transpose(2, 3)
    ahead = torch.full((length, seen), float("-inf"), dtype=scores.dtype, device=q.device).triu(1 + seen - length)
    weights = torch.softmax(scores.view(rows, kv_heads, -1, length, seen) + ahead, dim=-1)
    return (weights.to(v.dtype).view(rows, kv_heads, -1, seen) @ v).view(rows, heads, length, size)


class Norm(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(shape.hidden))
        self.epsilon = shape.norm_epsilon

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, (x.shape[-1],), self.weight.to(x.dtype), self.epsilon)


class Attention(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.shape = shape
        self.q_proj = nn.Linear(shape.hidden, shape.heads * shape.head_size, bias=False)
        self.k_proj = nn.Linear(shape.hidden, shape.kv_heads * shape.head_size, bias=False)
        self.v_proj = nn.Linear(shape.hidden, shape.kv_heads * shape.head_size, bias=False)
        self.o_proj = nn.Linear(shape.heads * shape.head_size, shape.hidden, bias=False)

    def forward(self, x: Tensor, groups: list[tuple[int, int]], cos: Tensor, sin: Tensor, cache=None) -> Tensor:
        """x [tokens, hidden] holds groups of (rows, length), one after the other; each row attends to itself."""
        s = self.shape
        q = rotate(self.q_proj(x).view(-1, s.heads, s.head_size), cos, sin)
        k = rotate(self.k_proj(x).view(-1, s.kv_heads, s.head_size), cos, sin)
        v = self.v_proj(x).view(-1, s.kv_heads, s.head_size)
        outputs, start = [], 0
        for rows, length in groups:
            part = slice(start, start + rows * length)
            start += rows * length
            qs, ks, vs = (t[part].view(rows, length, -1, s.head_size).transpose(1, 2) for t in (q, k, v))
            if cache is not None:
                ks, vs = cache.append(id(self), ks, vs)
            outputs.append(attend(qs, ks, vs).transpose(1, 2).reshape(rows * length, -1))
        return self.o_proj(torch.cat(outputs) if len(outputs) > 1 else outputs[0])


class FeedForward(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.gate_proj = nn.Linear(shape.hidden, shape.feed_forward, bias=False)
        self.up_proj = nn.Linear(shape.hidden, shape.feed_forward, bias=False)
        self.down_proj = nn.Linear(shape.feed_forward, shape.hidden, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.input_layernorm, self.self_attn = Norm(shape), Attention(shape)
        self.post_attention_layernorm, self.mlp = Norm(shape), FeedForward(shape)

    def forward(self, x: Tensor, groups, cos: Tensor, sin: Tensor, cache=None) -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x), groups, cos, sin, cache)
        return x + self.mlp(self.post_attention_layernorm(x))


class Decoder(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.embed_tokens = nn.Embedding(shape.vocabulary, shape.hidden)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.norm = Norm(shape)


class TinyLlama(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.shape, self.model = shape, Decoder(shape)
        cos, sin = rotary_tables(shape)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                last = name.endswith(("o_proj.weight", "down_proj.weight"))
                nn.init.normal_(parameter, std=0.02 / (2 * shape.layers) ** 0.5 if last else 0.02)

    def hidden(self, tokens: Tensor, positions: Tensor, groups: list[tuple[int, int]], cache=None) -> Tensor:
        """tokens and positions [tokens]; returns the normed hidden states [tokens, hidden]."""
        cos, sin = self.cos[positions], self.sin[positions]
        x = self.model.embed_tokens(tokens)
        for layer in self.model.layers:
            x = layer(x, groups, cos, sin, cache)
        return self.model.norm(x)

    def logits(self, hidden: Tensor) -> Tensor:
        return F.linear(hidden, self.model.embed_tokens.weight)
