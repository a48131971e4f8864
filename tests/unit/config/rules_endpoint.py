"""The URL of a replica, and when two of them are one endpoint."""

from tests.unit.config.toml import MEMBER_A, MEMBER_B, Rule, config, replica

__all__ = ["RULES"]

LAST = "router.tiers[0].replicas[1]"
HOST = "must be a URL whose host is an IP address or a DNS name"
PORT = "must be a URL whose port is 1 to 65535, or that has none"
BLANKS = "must be a URL without blanks and control characters"
SAME_URL = "must be unique in its tier, once normalised"


def member(**changes: str | None) -> str:
    """A file whose second member is changed."""
    return config(replica(MEMBER_A, {**MEMBER_B, **changes}))


def url(name: str, bad: str, message: str, good: str = "http://127.0.0.1:8002/v1") -> Rule:
    """A rule of a member's URL."""
    return Rule(
        f"an endpoint {name}",
        member(base_url=f'"{good}"'),
        member(base_url=f'"{bad}"'),
        f"{LAST}.base_url: {message}",
    )


def same_url(name: str, one: str, other: str, different: str) -> Rule:
    """Two spellings of one endpoint, and one of another."""
    first = {**MEMBER_A, "base_url": f'"{one}"'}
    return Rule(
        f"endpoints are equal {name}",
        config(replica(first, {**MEMBER_B, "base_url": f'"{different}"'})),
        config(replica(first, {**MEMBER_B, "base_url": f'"{other}"'})),
        f"{LAST}.base_url: {SAME_URL}",
    )


SAME = [
    same_url(
        "whatever the case of scheme and host", "http://a.test", "HTTP://A.test", "http://b.test"
    ),
    same_url("without the default port", "http://a.test:80", "http://a.test", "https://a.test"),
    same_url(
        "without the final slashes", "http://a.test/v1", "http://a.test/v1//", "http://a.test/V1"
    ),
    same_url(
        "without the final dot of a name", "http://a.test.", "http://a.test", "http://a.test//v1"
    ),
    same_url(
        "in the canonical text of an address", "http://[0:0::1]", "http://[::1]", "http://[::2]"
    ),
    same_url(
        "in IDNA", "http://b\u00fccher.test", "http://xn--bcher-kva.test", "http://bucher.test"
    ),
    same_url(
        "only if their escapes are", "http://a.test/%61", "http://a.test/%61/", "http://a.test/a"
    ),
]

URLS = [
    Rule(
        "an endpoint is text",
        member(),
        member(base_url="8002"),
        f"{LAST}.base_url: must be a URL",
    ),
    url("has no blank", "http://127.0.0.1:8002/v 1", BLANKS),
    url("has no control character", "http://127.0.0.1:8002/v1\\u0085", BLANKS),
    url("has no ?", "http://127.0.0.1:8002/v1?", "must be a URL without ? and #"),
    url("has no #", "http://127.0.0.1:8002/v1#", "must be a URL without ? and #"),
    url(
        "is http or https",
        "ws://127.0.0.1:8002",
        "must be a URL that begins with http:// or https://",
    ),
    url("has a host", "http:///v1", HOST),
    url("has no userinfo", "http://me:pass@127.0.0.1:8002", "must be a URL without credentials"),
    url("has no port 0", "http://127.0.0.1:0", PORT),
    url("has no port above 65535", "http://127.0.0.1:65536", PORT, "http://127.0.0.1:65535"),
    url("has a port of digits", "http://127.0.0.1:80a", PORT),
    url("has no half port", "http://127.0.0.1:", PORT),
    url("is no short address", "http://127.1:8002", HOST),
    url("is no octal address", "http://010.0.0.1:8002", HOST),
    url("is no hexadecimal address", "http://0x7f.0.0.1:8002", HOST),
    url("has no address zone", "http://[fe80::1%eth0]:8002", HOST, "http://[fe80::1]:8002"),
    url("has a whole IPv6 literal", "http://[::1:8002", HOST, "http://[::1]:8002"),
    url("has a valid IPv6 literal", "http://[::1::]:8002", HOST),
    url("has no underscore in its host", "http://engine_b:8002", HOST, "http://engine-b:8002"),
    url("has no label with a hyphen at its end", "http://engine-.test", HOST),
    url("has no empty label", "http://engine..test", HOST),
    url("has labels of at most 63 characters", f"http://{'e' * 64}", HOST, f"http://{'e' * 63}"),
    url(
        "has a name of at most 253 characters",
        f"http://{'.'.join(['e' * 49] * 5)}.test",
        HOST,
        f"http://{'.'.join(['e' * 49] * 5)}.tes",
    ),
    url("has a name that IDNA knows", "http://\u2603.test", HOST, "http://caf\u00e9.test"),
    url(
        "has at most 2048 characters",
        f"http://a/{'p' * 2040}",
        "must be a URL of at most 2048 characters",
        f"http://a/{'p' * 2039}",
    ),
    *(
        url(
            f"is not {name}",
            f"http://{name}:8002",
            "must name an address instead of localhost, which may stand for two",
        )
        for name in ("localhost", "LOCALHOST", "localhost.")
    ),
]

RULES = [*SAME, *URLS]
