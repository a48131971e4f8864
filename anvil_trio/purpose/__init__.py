"""Services beside chat: embeddings, rerank and speech, each one deterministic route."""
