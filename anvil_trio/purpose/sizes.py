"""How much one request for speech may bring, and how much of a body is read for it."""

from dataclasses import dataclass

from anvil_trio.config.model import RouterConfig
from anvil_trio.errors import Code, Problem, problem

__all__ = ["TOO_LARGE", "Sizes", "sizes_of"]

_BESIDE = 65_536  # the fields beside the audio or the text
_PER_CHAR = 12  # a character outside of Unicode's first plane, escaped twice

TOO_LARGE: Problem = problem(Code.PAYLOAD_TOO_LARGE)


@dataclass(frozen=True, slots=True)
class Sizes:
    """Bytes of a body, of its audio and of a reply; characters of its text."""

    max_body_bytes: int
    max_input_bytes: int
    max_output_bytes: int
    max_text_chars: int

    def form_body(self) -> int:
        """The most that a form with audio may have."""
        return min(self.max_body_bytes, self.max_input_bytes + _BESIDE)

    def coded_body(self) -> int:
        """The most that JSON with audio in base64 may have."""
        return min(self.max_body_bytes, (self.max_input_bytes + 2) // 3 * 4 + _BESIDE)

    def text_body(self) -> int:
        """The most that JSON with a text may have."""
        return min(self.max_body_bytes, self.max_text_chars * _PER_CHAR + _BESIDE)


def sizes_of(config: RouterConfig) -> Sizes:
    """Those of one configuration."""
    router = config.router
    return Sizes(
        max_body_bytes=config.server.max_body_bytes,
        max_input_bytes=router.audio_max_input_bytes,
        max_output_bytes=router.audio_max_output_bytes,
        max_text_chars=router.audio_max_text_chars,
    )
