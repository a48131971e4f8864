"""One request to `/mcp`."""

from anvil_trio.decisions.words import RequestKind
from anvil_trio.exchange.call import Call
from anvil_trio.exchange.caller import Caller
from anvil_trio.exchange.closing import Closing
from anvil_trio.exchange.generation import Generation
from anvil_trio.exchange.house import House
from anvil_trio.media.exchanges import RpcExchange
from anvil_trio.media.gateway import Gateway
from anvil_trio.media.mcp_desk import McpDesk
from anvil_trio.media.mcp_manner import McpHeaders

__all__ = ["run_mcp"]


async def run_mcp(
    house: House,
    generation: Generation,
    call: Call,
    caller: Caller,
    gateway: Gateway,
    said: McpHeaders,
) -> None:
    """Answer one body, once, and leave one record. Raises nothing but `trio.Cancelled`."""
    await _McpExchange(house, generation, call, caller, McpDesk(gateway), said).run()


class _McpExchange(RpcExchange):
    def __init__(
        self,
        house: House,
        generation: Generation,
        call: Call,
        caller: Caller,
        desk: McpDesk,
        said: McpHeaders,
    ) -> None:
        super().__init__(house, generation, call, caller, RequestKind.MCP)
        self._desk, self._said = desk, said

    async def _answer(self, body: bytes) -> Closing:
        return self._whole(await self._desk.answer(body, self._said))
