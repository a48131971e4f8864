"""Which names of left-out request fields a record may hold (R012).

The list is closed, because whoever writes a request may call a field what they like.
"""

from collections.abc import Collection

__all__ = ["OTHER", "RECORDABLE", "recorded_names"]

OTHER = "other"
"""Stands for whatever the list does not have."""

_MOST = 32

_CHAT = """
    audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens
    max_tokens messages metadata modalities model moderation n parallel_tool_calls prediction
    presence_penalty prompt_cache_key prompt_cache_options prompt_cache_retention reasoning_effort
    response_format safety_identifier seed service_tier stop store stream stream_options
    temperature tool_choice tools top_logprobs top_p user verbosity web_search_options
"""
_MESSAGES = """
    access_programs betas billing_policy cache_control container context_management diagnostics
    fallback_credit_token fallbacks inference_geo mcp_servers output_config output_format speed
    stop_sequences system thinking thread top_k user_profile_id workspace_id
"""
_RESPONSES = """
    background background_options compaction conversation image include input instructions
    max_output_tokens max_tool_calls previous_response_id prompt reasoning text truncation
"""
_ENGINES = """
    add_generation_prompt cache_prompt chat_template chat_template_kwargs continue_final_message
    custom_logit_processor documents ebnf echo enable_thinking grammar guided_choice
    guided_decoding_backend guided_grammar guided_json guided_regex id_slot ignore_eos
    include_reasoning include_stop_str_in_output json_schema kv_transfer_params length_penalty
    lora_path min_p min_tokens mirostat mirostat_eta mirostat_tau n_predict n_probs no_stop_trim
    parse_tool_calls priority prompt_logprobs reasoning_budget reasoning_format regex
    repeat_last_n repeat_penalty repetition_penalty request_id return_hidden_states samplers
    separate_reasoning skip_special_tokens spaces_between_special_tokens stop_token_ids
    stream_reasoning structured_outputs tfs_z thinking_budget_tokens thinking_forced_open
    timings_per_token top_a truncate_prompt_tokens typical_p use_beam_search vllm_xargs
    xtc_probability xtc_threshold
"""
_PARTS = """
    citations encrypted_content image_url.detail messages.name redacted_thinking
    system.billing_header thinking_history tools.hosted
"""
_HOSTED_TOOLS = """
    apply_patch code_interpreter computer computer_use_preview custom file_search image_generation
    local_shell mcp namespace programmatic_tool_calling shell tool_search web_search
    web_search_2025_08_26 web_search_preview web_search_preview_2025_03_11
"""

RECORDABLE = frozenset(
    " ".join((_CHAT, _MESSAGES, _RESPONSES, _ENGINES, _PARTS)).split()
) | frozenset(f"tools-{kind}" for kind in _HOSTED_TOOLS.split())
"""What the three APIs and the engines call their fields, and our words for parts of some."""


def recorded_names(names: Collection[str]) -> tuple[str, ...]:
    """At most 32 of the list's names, in order; one fixed word for all that were left out."""
    if not names:
        return ()
    given = set(names)
    kept = sorted(given & RECORDABLE)[:_MOST]
    return (*kept, OTHER) if len(kept) < len(given) else tuple(kept)
