"""Conversations of every kind that all three dialects can express, written in each by hand.

They are drawn as Chat messages; `as_messages` and `as_responses` say the same in other words and
share no code with the translation.
"""

import json
from typing import Any

from hypothesis import strategies as st

__all__ = ["as_messages", "as_responses", "chats"]

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12).filter(str.strip)
VALUES = st.none() | st.booleans() | st.integers(-9, 2**53) | TEXTS
OBJECTS = st.dictionaries(TEXTS, VALUES | st.lists(VALUES, max_size=2), max_size=3)
URLS = st.sampled_from(["https://pictures.test/a.png", "data:image/png;base64,QUJD"])
EFFORTS = st.sampled_from(["low", "medium", "high"])
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
NAMES = ["get_weather", "get_time"]
CHOICES = ["auto", "none", "required", {"type": "function", "function": {"name": NAMES[0]}}]


def tool(name: str) -> dict[str, Any]:
    """A function of the caller's own."""
    function = {"name": name, "description": f"tells {name}", "parameters": SCHEMA, "strict": True}
    return {"type": "function", "function": function}


@st.composite
def users(draw: st.DrawFn) -> dict[str, Any]:
    """A user's message: a text, or texts and pictures."""
    if draw(st.booleans()):
        return {"role": "user", "content": draw(TEXTS)}
    parts: list[Any] = [{"type": "text", "text": draw(TEXTS)}]
    parts.append({"type": "image_url", "image_url": {"url": draw(URLS)}})
    parts += [{"type": "text", "text": text} for text in draw(st.lists(TEXTS, max_size=1))]
    return {"role": "user", "content": parts}


@st.composite
def answers(draw: st.DrawFn, number: int) -> list[dict[str, Any]]:
    """An assistant's message, and the results of its calls if it made some."""
    inputs = draw(st.lists(OBJECTS, max_size=3))
    text = draw(TEXTS) if not inputs or draw(st.booleans()) else ""
    message: dict[str, Any] = {"role": "assistant", "content": text}
    ids = [f"call_{number}_{at}" for at in range(len(inputs))]
    if inputs:
        message["tool_calls"] = [
            {
                "id": call_id,
                "type": "function",
                "function": {"name": draw(st.sampled_from(NAMES)), "arguments": json.dumps(given)},
            }
            for call_id, given in zip(ids, inputs, strict=True)
        ]
    results = [{"role": "tool", "tool_call_id": one, "content": draw(TEXTS)} for one in ids]
    return [message, *results]


@st.composite
def chats(draw: st.DrawFn) -> dict[str, Any]:
    """A whole request in Chat's words."""
    messages = [{"role": "system", "content": text} for text in draw(st.lists(TEXTS, max_size=1))]
    for number in range(draw(st.integers(1, 3))):
        messages.append(draw(users()))
        messages += draw(answers(number))
    messages.append(draw(users()))
    body: dict[str, Any] = {
        "model": "m",
        "messages": messages,
        "max_tokens": draw(st.integers(1, 9)),
    }
    if draw(st.booleans()):
        body |= {"tools": [tool(name) for name in NAMES]}
        body |= {"tool_choice": draw(st.sampled_from(CHOICES))}
        if body["tool_choice"] != "none" and draw(st.booleans()):
            body["parallel_tool_calls"] = False
    extras = {
        "temperature": st.sampled_from([0, 0.5]),
        "top_p": st.sampled_from([0.25, 1]),
        "reasoning_effort": EFFORTS,
        "response_format": st.just({
            "type": "json_schema",
            "json_schema": {"name": "response", "schema": SCHEMA, "strict": True},
        }),
    }
    return body | {name: draw(value) for name, value in extras.items() if draw(st.booleans())}


def as_messages(chat: dict[str, Any]) -> dict[str, Any]:
    """The same as a caller of Anthropic's API says it."""
    system = [one["content"] for one in chat["messages"] if one["role"] == "system"]
    names = ("model", "max_tokens", "temperature", "top_p")
    body: dict[str, Any] = {name: chat[name] for name in names if name in chat}
    turns: list[dict[str, Any]] = []
    results: list[Any] = []
    for message in chat["messages"]:
        if message["role"] == "tool":
            block = {"type": "tool_result", "tool_use_id": message["tool_call_id"]}
            results.append({**block, "content": message["content"]})
        elif message["role"] == "user":
            turns.append({"role": "user", "content": [*results, *_blocks(message["content"])]})
            results = []
        elif message["role"] == "assistant":
            calls = [_use(call) for call in message.get("tool_calls", ())]
            turns.append({"role": "assistant", "content": [*_blocks(message["content"]), *calls]})
    body |= {"messages": turns, **({"system": system[0]} if system else {})}
    if "tools" in chat:
        body["tools"] = [_custom(one["function"]) for one in chat["tools"]]
        choice = _messages_choice(chat["tool_choice"])
        if "parallel_tool_calls" in chat:
            choice["disable_parallel_tool_use"] = True
        body["tool_choice"] = choice
    config = {}
    if "reasoning_effort" in chat:
        config["effort"] = chat["reasoning_effort"]
    if "response_format" in chat:
        config["format"] = {"type": "json_schema", "schema": SCHEMA}
    return {**body, **({"output_config": config} if config else {})}


def as_responses(chat: dict[str, Any]) -> dict[str, Any]:
    """The same as a caller of the Responses API says it."""
    names = ("model", "temperature", "top_p", "parallel_tool_calls")
    body: dict[str, Any] = {name: chat[name] for name in names if name in chat}
    body["max_output_tokens"] = chat["max_tokens"]
    items: list[dict[str, Any]] = []
    for message in chat["messages"]:
        match message["role"]:
            case "system":
                body["instructions"] = message["content"]
            case "tool":
                output = {"call_id": message["tool_call_id"], "output": message["content"]}
                items.append({"type": "function_call_output", **output})
            case "user":
                items.append({"role": "user", "content": _inputs(message["content"])})
            case "assistant":
                if message["content"]:
                    part = {"type": "output_text", "text": message["content"]}
                    items.append({"type": "message", "role": "assistant", "content": [part]})
                for call in message.get("tool_calls", ()):
                    said = {"call_id": call["id"], **call["function"]}
                    items.append({"type": "function_call", **said})
    body["input"] = items
    if "tools" in chat:
        body["tools"] = [{"type": "function", **one["function"]} for one in chat["tools"]]
        choice = chat["tool_choice"]
        named = choice if isinstance(choice, str) else {"type": "function", **choice["function"]}
        body["tool_choice"] = named
    if "reasoning_effort" in chat:
        body["reasoning"] = {"effort": chat["reasoning_effort"]}
    if "response_format" in chat:
        schema = chat["response_format"]["json_schema"]
        body["text"] = {"format": {"type": "json_schema", **schema}}
    return body


def _blocks(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [_image(part) if part["type"] == "image_url" else part for part in content]


def _image(part: dict[str, Any]) -> dict[str, Any]:
    url = part["image_url"]["url"]
    if url.startswith("data:"):
        source = {"type": "base64", "media_type": "image/png", "data": "QUJD"}
    else:
        source = {"type": "url", "url": url}
    return {"type": "image", "source": source}


def _use(call: dict[str, Any]) -> dict[str, Any]:
    function = call["function"]
    given = json.loads(function["arguments"])
    return {"type": "tool_use", "id": call["id"], "name": function["name"], "input": given}


def _custom(function: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": function["name"],
        "description": function["description"],
        "input_schema": function["parameters"],
        "strict": True,
    }


def _messages_choice(choice: Any) -> dict[str, Any]:
    if isinstance(choice, str):
        return {"type": {"auto": "auto", "none": "none", "required": "any"}[choice]}
    return {"type": "tool", "name": choice["function"]["name"]}


def _inputs(content: Any) -> Any:
    if isinstance(content, str):
        return content
    return [
        {"type": "input_image", "image_url": part["image_url"]["url"]}
        if part["type"] == "image_url"
        else {"type": "input_text", "text": part["text"]}
        for part in content
    ]
