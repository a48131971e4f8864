"""Writes the scripted model as a GGUF file: `python -m tests.engines.gguf_file OUT.gguf`."""

import sys
from pathlib import Path

import gguf
import numpy as np

from tests.engines import scripted_model as model

__all__ = ["write_model"]


def write_model(path: Path) -> None:
    """Write a file that llama.cpp loads; about 1 MB, the same bytes every time."""
    vocabulary = model.Vocabulary()
    writer = gguf.GGUFWriter(str(path), "llama")
    _describe(writer, len(vocabulary.tokens))
    _add_tokenizer(writer, vocabulary)
    for name, tensor in model.weights(vocabulary).items():
        writer.add_tensor(f"{name}.weight", np.ascontiguousarray(tensor))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _describe(writer: gguf.GGUFWriter, tokens: int) -> None:
    writer.add_name("tiny-scripted")
    writer.add_context_length(model.CONTEXT_TOKENS)
    writer.add_embedding_length(model.HIDDEN)
    writer.add_block_count(1)
    writer.add_feed_forward_length(model.FEED_FORWARD)
    writer.add_head_count(1)
    writer.add_head_count_kv(1)
    writer.add_key_length(model.HEAD_DIM)
    writer.add_value_length(model.HEAD_DIM)
    writer.add_rope_dimension_count(model.HEAD_DIM)
    writer.add_rope_freq_base(10_000.0)
    writer.add_layer_norm_rms_eps(model.NORM_EPSILON)
    writer.add_vocab_size(tokens)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)


def _add_tokenizer(writer: gguf.GGUFWriter, vocabulary: model.Vocabulary) -> None:
    kinds = dict.fromkeys(vocabulary.tokens, gguf.TokenType.NORMAL)
    kinds |= dict.fromkeys(vocabulary.control, gguf.TokenType.CONTROL)
    kinds |= dict.fromkeys(vocabulary.pieces, gguf.TokenType.USER_DEFINED)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(vocabulary.tokens)
    writer.add_token_types(list(kinds.values()))
    writer.add_token_merges([f"{left} {right}" for left, right in vocabulary.merges])
    writer.add_bos_token_id(vocabulary.index[model.BOS])
    writer.add_eos_token_id(vocabulary.index[model.EOS])
    writer.add_add_bos_token(False)
    writer.add_chat_template(model.CHAT_TEMPLATE)


if __name__ == "__main__":
    write_model(Path(sys.argv[1]))
