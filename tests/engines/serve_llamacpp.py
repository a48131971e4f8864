"""Runs llama.cpp's own HTTP server: `python -m tests.engines.serve_llamacpp MODEL.gguf PORT`.

A third word, `embeddings`, makes it serve those and nothing else.

One line with its address is printed once it listens; it ends when its standard input closes, so it
cannot outlive whoever started it.
"""

import sys

import xllamacpp

__all__ = ["serve"]


def serve(model: str, port: int, *, embeds: bool = False) -> None:
    """Serve `model` on loopback under the name `tiny` until standard input closes."""
    settings = xllamacpp.CommonParams()
    settings.model.path = model
    settings.model_alias = {"tiny"}
    settings.hostnames = ["127.0.0.1"]
    settings.port = port
    settings.n_ctx = 262_144
    settings.n_parallel = 2  # each gets half of it
    settings.use_jinja = True
    if embeds:
        settings.embedding = True
        settings.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    settings.endpoint_metrics = True
    settings.endpoint_props = True
    settings.cpuparams.n_threads = 1
    settings.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(settings)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), embeds="embeddings" in sys.argv[3:])
