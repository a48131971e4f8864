"""A real router's metrics, as a scraper gets them."""

from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from anvil_trio.meters.catalog import CATALOG
from tests.support.running_router import TOKEN, open_engines, open_router, raw_client

pytestmark = pytest.mark.wire


async def test_a_scraper_reads_what_requests_left(tmp_path: Path) -> None:
    """All metrics over HTTP, with the probes and requests that really were."""
    async with open_engines() as urls, open_router(tmp_path, urls) as router:
        for _ in range(4):
            async with raw_client(router) as client:
                await client.send_chat()
                await client.read_until(b"[DONE]")
        await router.wait_for_rest()
        async with httpx.AsyncClient(trust_env=False) as scraper:
            headers = {"authorization": f"Bearer {TOKEN}"}
            reply = await scraper.get(f"{router.base_url}/metrics", headers=headers)
            head = await scraper.head(f"{router.base_url}/metrics", headers=headers)
    assert (reply.status_code, head.status_code) == (200, 200)
    assert reply.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert head.content == b""
    families = {family.name: family for family in text_string_to_metric_families(reply.text)}
    assert list(families) == [one.name.removesuffix("_total") for one in CATALOG]

    def total(family: str, suffix: str = "") -> float:
        samples = families[f"anvil_router_{family}"].samples
        return sum(one.value for one in samples if one.name.endswith(suffix))

    assert total("requests") == total("attempts") == 4
    for name in ("time_to_first_content", "stream_gap", "upstream_duration", "admission_wait"):
        assert total(f"{name}_seconds", "_count") == 4, name
    assert total("member_ready") == 2
    assert 0 <= total("probe_age_seconds") < 30
    assert total("refusals") == total("probe_failures") == 0
