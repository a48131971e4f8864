"""What the demo can be asked to make."""

from pathlib import Path

from anvil_trio.config.media import make_media
from anvil_trio.config.parse import parse_config
from anvil_trio.demo.router_toml import render_router_toml
from anvil_trio.demo.workflows import REGISTRY_NAME, WORKFLOWS, media_environ
from anvil_trio.operations.inputs import Inputs, check_inputs
from anvil_trio.operations.model import Submission
from anvil_trio.operations.registry import parse_registry

URL = "http://127.0.0.1:8001"


def test_the_registry_of_the_demo_is_one_for_its_backend() -> None:
    """Its first workflow can be run with words alone, in each of its profiles."""
    registry = parse_registry(WORKFLOWS.encode(), lambda _: None, needs_graphs=False)
    first = registry.workflows[0]
    assert [profile.id for profile in first.quality_profiles] == ["draft", "fine"]
    for profile in (None, "draft", "fine"):
        asked = Submission(first.id, first.version, {"prompt": "a"}, "k", profile)
        assert isinstance(check_inputs(asked, first), Inputs)


def test_the_demo_keeps_everything_in_its_own_folder() -> None:
    """Whatever the shell has set, its backend is the embedded one."""
    text = render_router_toml(
        {"demo": [URL]}, model="m", context_limit=4096, media_origin="http://127.0.0.1:8000"
    )
    server = parse_config(text.encode()).server
    folder = Path("/tmp/demo")
    environ = {"ANVIL_MEDIA_BACKEND_URL": URL, **media_environ(folder)}
    media = make_media(server, environ.get, Path)
    assert media is not None
    assert media.backend_url is None
    assert media.workflow_registry == folder / REGISTRY_NAME
    assert {media.state_db.parent, media.artifact_root.parent} == {folder}


def test_a_router_may_do_without_operations() -> None:
    """As benchmarks and other tests have it."""
    text = render_router_toml({"demo": [URL]}, model="m", context_limit=4096)
    assert parse_config(text.encode()).server.media_principal is None
