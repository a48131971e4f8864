"""A scripted, deterministic toy language model, so that a real engine gives known answers.

It is an ordinary one-layer Llama whose attention and MLP outputs are zero: what stands at the last
position is exactly the embedding of the last token, so the whole model is a bigram table. Every
token of a script owns one embedding dimension, and the output head sends that dimension to the
script's next token. The chat template ends the prompt with a script's start token and so decides
which script runs: one that calls tools if they are on offer, else one that fits the last words.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "BOS",
    "CALLING",
    "CALLING_BOTH",
    "CHAT_TEMPLATE",
    "CONTEXT_TOKENS",
    "COUNTING",
    "EOS",
    "FEED_FORWARD",
    "GREETING",
    "HEAD_DIM",
    "HIDDEN",
    "NORM_EPSILON",
    "PONDERING",
    "SCRIPTS",
    "STRUCTURED",
    "Script",
    "Vocabulary",
    "weights",
]

HIDDEN = 256
HEAD_DIM = 64
FEED_FORWARD = 64
CONTEXT_TOKENS = 262_144
NORM_EPSILON = 1e-5
BOS, EOS = "<|im_start|>", "<|im_end|>"

Weights: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Script:
    """What the model says to a prompt that holds `when`; then it stops, or goes on at a piece."""

    when: str
    pieces: Sequence[str]
    loops_to: int | None = None

    @property
    def start(self) -> str:
        """The control token that the chat template ends the prompt with."""
        return f"<|script:{self.when}|>"

    @property
    def text(self) -> str:
        """The whole answer, or one round of it."""
        return "".join(self.pieces)


GREETING = Script("", ("Hello", " from a", " tiny", " model:", " café,", " 你好", " 🦙."))
COUNTING = Script("count forever", tuple(f" n{number}" for number in range(16)), loops_to=0)
PONDERING = Script("ponder", ("<think>", "\nLet me", " see.", "\n</think>", "\n\nForty", "-two."))
STRUCTURED = Script("which city", ('{"city":', ' "Os', 'lo"}'))
CALLING = Script(
    "<|one call|>",
    (
        '<tool_call>\n{"name": "get_weather"',
        ', "arguments": {"ci',
        'ty": "Ro',
        'me"}}\n</tool_call>',
    ),
)
CALLING_BOTH = Script(
    "<|two calls|>",
    (
        '<tool_call>\n{"name": "get_weather",',
        ' "arguments": {"city"',
        ': "Rome"}}\n</tool_call>',
        '\n<tool_call>\n{"name": "get_time"',
        ', "arguments": {"city": "',
        'Oslo"}}\n</tool_call>',
    ),
)
SPOKEN: Sequence[Script] = (COUNTING, PONDERING, STRUCTURED, GREETING)
"""The first script whose `when` is in the last user message runs; the last one fits everything."""

SCRIPTS: Sequence[Script] = (CALLING, CALLING_BOTH, *SPOKEN)


def _branches() -> str:
    """The part of the chat template that picks the script."""
    calls = (
        "{%- if ns.offered > 1 %}{{- '" + CALLING_BOTH.start + "' }}"
        "{%- elif ns.offered %}{{- '" + CALLING.start + "' }}"
    )
    branches = "".join(
        f"{{%- elif '{script.when}' in ns.last %}}{{{{- '{script.start}' }}}}" for script in SPOKEN
    )
    return calls + branches + "{%- endif %}"


_TOOLS = (
    "{%- if tools %}{{- '<|im_start|>system\\n<tools>' }}"
    "{%- for tool in tools %}{{- '\\n' + (tool | tojson) }}"
    "{%- set ns.offered = ns.offered + 1 %}{%- endfor %}"
    '{{- \'\\n</tools>\\nCall one as <tool_call>\\n{"name": <name>, "arguments": <object>}\\n'
    "</tool_call><|im_end|>\\n' }}{%- endif %}"
)
_CALLS = (
    "{%- for c in m.tool_calls or [] %}"
    '{{- \'\\n<tool_call>\\n{"name": "\' + c.function.name + \'", "arguments": \' }}'
    "{%- if c.function.arguments is string %}{{- c.function.arguments }}"
    "{%- else %}{{- c.function.arguments | tojson }}{%- endif %}"
    "{{- '}\\n</tool_call>' }}{%- endfor %}"
)
CHAT_TEMPLATE = (
    "{%- set ns = namespace(last='', offered=0) %}" + _TOOLS + "{%- for m in messages %}"
    "{%- if m.role == 'user' %}{%- set ns.last = m.content %}{%- endif %}"
    "{%- if m.role == 'tool' %}{%- set ns.offered = 0 %}"
    "{{- '<|im_start|>user\\n<tool_response>\\n' + m.content + '\\n</tool_response>' }}"
    "{%- else %}{{- '<|im_start|>' + m.role + '\\n' + (m.content or '') }}{%- endif %}"
    "{%- if m.reasoning_content %}{{- '<think>' + m.reasoning_content + '</think>' }}{%- endif %}"
    + _CALLS
    + "{{- '<|im_end|>\\n' }}"
    "{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}"
    + _branches()
    + "{%- endif %}"
)


def byte_alphabet() -> Sequence[str]:
    """The printable stand-ins of the 256 bytes in byte-level BPE, in byte order."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    stand_ins: Iterator[int] = iter(range(256, 512))
    return [chr(byte if byte in printable else next(stand_ins)) for byte in range(256)]


class Vocabulary:
    """Every token: bytes, one merge (an engine wants some), control tokens, script pieces."""

    def __init__(self) -> None:
        alphabet = byte_alphabet()
        self.merges = [(alphabet[ord("t")], alphabet[ord("h")])]
        self.control = [BOS, EOS, *(script.start for script in SCRIPTS)]
        self.pieces = [piece for script in SCRIPTS for piece in script.pieces]
        tokens = [*alphabet, *("".join(pair) for pair in self.merges), *self.control, *self.pieces]
        assert len(set(tokens)) == len(tokens), "a piece is a state, so it stands for one only"
        self.tokens = [*tokens, *(f"<|unused:{n}|>" for n in range(-len(tokens) % 64))]
        self.index = {token: number for number, token in enumerate(self.tokens)}


def weights(vocabulary: Vocabulary) -> Mapping[str, Weights]:
    """All tensors by their GGUF names; the same bytes every time."""
    embedding, head = _bigrams(vocabulary)
    noise = np.random.default_rng(0)

    def small(rows: int, columns: int) -> Weights:
        return noise.standard_normal((rows, columns), np.float32) * np.float32(0.02)

    return {
        "token_embd": embedding,
        "output": head + noise.standard_normal(head.shape, np.float32) * np.float32(0.004),
        "output_norm": np.ones(HIDDEN, np.float32),
        "blk.0.attn_norm": np.ones(HIDDEN, np.float32),
        "blk.0.attn_q": small(HEAD_DIM, HIDDEN),
        "blk.0.attn_k": small(HEAD_DIM, HIDDEN),
        "blk.0.attn_v": small(HEAD_DIM, HIDDEN),
        "blk.0.attn_output": np.zeros((HIDDEN, HEAD_DIM), np.float32),
        "blk.0.ffn_norm": np.ones(HIDDEN, np.float32),
        "blk.0.ffn_gate": small(FEED_FORWARD, HIDDEN),
        "blk.0.ffn_up": small(FEED_FORWARD, HIDDEN),
        "blk.0.ffn_down": np.zeros((HIDDEN, FEED_FORWARD), np.float32),
    }


def _bigrams(vocabulary: Vocabulary) -> tuple[Weights, Weights]:
    """Embedding and output head: each script token points at the one that follows it."""
    peak = 2.0  # times sqrt(HIDDEN) after the norm: a logit of 32, so sampling cannot miss
    embedding = np.zeros((len(vocabulary.tokens), HIDDEN), np.float32)
    embedding[:, 0] = 1.0  # whatever is in no script shares the first dimension
    head = np.zeros_like(embedding)
    head[vocabulary.index[GREETING.pieces[0]], 0] = peak
    free = iter(range(1, HIDDEN))
    for script in SCRIPTS:
        chain = [script.start, *script.pieces]
        follower = EOS if script.loops_to is None else script.pieces[script.loops_to]
        for token, following in pairwise([*chain, follower]):
            dimension = next(free)
            embedding[vocabulary.index[token]] = 0.0
            embedding[vocabulary.index[token], dimension] = 1.0
            head[vocabulary.index[following], dimension] = peak
    return embedding, head
