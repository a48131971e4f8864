"""The rules of `[server]`: deadlines, limits, files."""

from tests.unit.config.toml import Rule, config, direct

__all__ = ["RULES"]

SECONDS = "must be a number of seconds above 0 and at most 86400"
ENV_NAME = "must be the name of an environment variable, [A-Z][A-Z0-9_]*, and never a key itself"
PATH = "must be a path, not empty and without control characters"
TIMES = (
    "admission_timeout_s",
    "startup_timeout_s",
    "idle_timeout_s",
    "total_timeout_s",
    "heartbeat_interval_s",
    "client_stall_timeout_s",
    "shutdown_timeout_s",
)
COUNTS = {
    "max_concurrency": (1, 65_536),
    "max_connections": (1, 65_536),
    "max_body_bytes": (1024, 1_073_741_824),
    "max_event_bytes": (4096, 268_435_456),
}
AUTH = 'auth_env = "ROUTER_TOKEN"'


def server(*lines: str) -> str:
    """A file with those lines in `[server]`."""
    return config(server=lines)


RULES = [
    Rule(
        "auth_env names an environment variable",
        server('auth_env = "ROUTER_TOKEN_2"'),
        server('auth_env = "router_token"'),
        f"server.auth_env: {ENV_NAME}",
    ),
    Rule(
        "auth_env does not look like a cloud key id",
        server('auth_env = "AKIA_NOT_A_KEY"'),
        server('auth_env = "ASIAABCDEFGHIJKLMNOP"'),
        f"server.auth_env: {ENV_NAME}",
    ),
    *(
        Rule(
            f"{key} is a number of seconds",
            server(f"{key} = 2.5"),
            server(f'{key} = "2.5"'),
            f"server.{key}: {SECONDS}",
        )
        for key in TIMES
    ),
    Rule(
        "a time is above 0",
        server("idle_timeout_s = 0.001"),
        server("idle_timeout_s = 0"),
        f"server.idle_timeout_s: {SECONDS}",
    ),
    Rule(
        "a time is at most a day",
        server("idle_timeout_s = 86400"),
        server("idle_timeout_s = 86400.5"),
        f"server.idle_timeout_s: {SECONDS}",
    ),
    Rule(
        "a time is a number, not nan",
        server("idle_timeout_s = 1e3"),
        server("idle_timeout_s = nan"),
        f"server.idle_timeout_s: {SECONDS}",
    ),
    Rule(
        "a time is finite",
        server("idle_timeout_s = 60"),
        server("idle_timeout_s = inf"),
        f"server.idle_timeout_s: {SECONDS}",
    ),
    Rule(
        "a boolean is no time",
        server("idle_timeout_s = 1"),
        server("idle_timeout_s = true"),
        f"server.idle_timeout_s: {SECONDS}",
    ),
    Rule(
        "a boolean is no count",
        server("max_concurrency = 1"),
        server("max_concurrency = true"),
        "server.max_concurrency: must be a whole number from 1 to 65536",
    ),
    Rule(
        "a count is whole",
        server("max_concurrency = 64"),
        server("max_concurrency = 64.0"),
        "server.max_concurrency: must be a whole number from 1 to 65536",
    ),
    *(
        Rule(
            f"{key} is at least {low}",
            server(f"{key} = {low}"),
            server(f"{key} = {low - 1}"),
            f"server.{key}: must be a whole number from {low} to {high}",
        )
        for key, (low, high) in COUNTS.items()
    ),
    *(
        Rule(
            f"{key} is at most {high}",
            server(f"{key} = {high}"),
            server(f"{key} = {high + 1}"),
            f"server.{key}: must be a whole number from {low} to {high}",
        )
        for key, (low, high) in COUNTS.items()
    ),
    Rule(
        "authorization_policy_path is not empty",
        server(AUTH, 'authorization_policy_path = "~/policy.json"'),
        server(AUTH, 'authorization_policy_path = ""'),
        f"server.authorization_policy_path: {PATH}",
    ),
    Rule(
        "authorization_policy_path needs auth_env",
        server(AUTH, 'authorization_policy_path = "/etc/anvil/policy.json"'),
        server('authorization_policy_path = "/etc/anvil/policy.json"'),
        "server.authorization_policy_path: needs auth_env",
    ),
    Rule(
        "decision_log_path is a path",
        server('decision_log_path = "decisions.jsonl"'),
        server('decision_log_path = "decisions\\u0000.jsonl"'),
        f"server.decision_log_path: {PATH}",
    ),
    Rule(
        "admission_state_path is a path",
        server('admission_state_path = "state.json"'),
        server("admission_state_path = 1"),
        f"server.admission_state_path: {PATH}",
    ),
    *(
        Rule(
            f"trace_export_url may be {host} but not {stranger}",
            server(f'trace_export_url = "http://{host}:4318/v1/traces"'),
            server(f'trace_export_url = "http://{stranger}:4318/v1/traces"'),
            "server.trace_export_url: must be a URL whose host is a loopback or private IP address",
        )
        for host, stranger in (
            ("127.9.9.9", "128.0.0.1"),
            ("[::1]", "[::2]"),
            ("10.1.2.3", "11.1.2.3"),
            ("172.31.0.1", "172.32.0.1"),
            ("192.168.0.1", "192.169.0.1"),
            ("100.64.0.1", "100.128.0.1"),
            ("[fd00::1]", "[fe80::1]"),
            ("127.0.0.1", "collector.example"),
        )
    ),
    *(
        Rule(
            f"trace_export_url {name}",
            server('trace_export_url = "https://127.0.0.1"'),
            server(f'trace_export_url = "{bad}"'),
            f"server.trace_export_url: {message}",
        )
        for name, bad, message in (
            (
                "is http or https",
                "ftp://127.0.0.1/traces",
                "must be a URL that begins with http:// or https://",
            ),
            (
                "has no credentials",
                "http://someone@127.0.0.1/traces",
                "must be a URL without credentials",
            ),
            ("has no query", "http://127.0.0.1/traces?", "must be a URL without ? and #"),
            ("has no fragment", "http://127.0.0.1/traces#", "must be a URL without ? and #"),
            (
                "has no blank",
                "http://127.0.0.1/tra ces",
                "must be a URL without blanks and control characters",
            ),
            (
                "has no backslash",
                "http://127.0.0.1/tra\\\\ces",
                "must be a URL without a backslash",
            ),
            (
                "has no port 0",
                "http://127.0.0.1:0/traces",
                "must be a URL whose port is 1 to 65535, or that has none",
            ),
        )
    ),
    Rule(
        "workload_host is an identifier",
        server('workload_host = "node-1"'),
        server('workload_host = "1-node"'),
        "server.workload_host: must match [A-Za-z][A-Za-z0-9_-]{0,63}",
    ),
    *(
        Rule(f"cors_origins {name}", server(good), server(bad), f"server.cors_origins: {message}")
        for name, good, bad, message in (
            (
                "is a list of origins",
                'cors_origins = ["http://localhost:3000", "https://app.example"]',
                'cors_origins = "https://app.example"',
                "must be an array of URLs",
            ),
            (
                "has each origin once",
                'cors_origins = ["http://a.example"]',
                'cors_origins = ["http://a.example", "http://a.example"]',
                "must not have an origin twice",
            ),
            (
                "has origins without a path",
                'cors_origins = ["http://a.example"]',
                'cors_origins = ["http://a.example/"]',
                "must be an http or https origin: scheme, host and port, and nothing after them",
            ),
        )
    ),
    Rule(
        "no cors_origins ask for nothing",
        server("cors_origins = []"),
        server("cors_origins = false"),
        "server.cors_origins: must be an array of URLs",
    ),
    Rule(
        "tls_certfile goes with tls_keyfile",
        server('tls_certfile = "cert.pem"', 'tls_keyfile = "key.pem"'),
        server('tls_certfile = "cert.pem"'),
        "server.tls_keyfile: is required with the other tls_ key",
    ),
    Rule(
        "tls_keyfile goes with tls_certfile",
        server('tls_certfile = "cert.pem"', 'tls_keyfile = "key.pem"'),
        server('tls_keyfile = "key.pem"'),
        "server.tls_certfile: is required with the other tls_ key",
    ),
    Rule(
        "server has no unknown key",
        server("admission_timeout_s = 1"),
        server("admission_timout_s = 1"),
        "server.admission_timout_s: is not a known key",
    ),
    Rule(
        "server has no key of the old system beside chat",
        server(),
        server('api_keys_path = "/etc/anvil/keys"'),
        "server.api_keys_path: is not a known key",
    ),
    Rule(
        "server is a table",
        config(),
        f"server = 1\nrouter = {{ tiers = [{direct()}], model_routes = {{ a = 'primary' }} }}",
        "server: must be a table",
    ),
]
