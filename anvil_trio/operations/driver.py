"""Brings one operation from wherever it stands to its end, one written step after the other.

Every step is written down before the next begins, and each may be done again: whoever takes over
after a kill begins where the last written one ended, asks the backend first, and hands a job over
only where the backend does not know it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import assert_never

import trio

from anvil_trio.operations.backend import Backend, BackendUnavailable, Job, Rejected
from anvil_trio.operations.bells import Bells
from anvil_trio.operations.database import DatabaseFault
from anvil_trio.operations.ids import job_key
from anvil_trio.operations.ingest import Ingest, Keeping
from anvil_trio.operations.model import Artifact, FailureCode, Kind, Operation, State
from anvil_trio.operations.plan import Fail, Step, Submit, Turn, Wait, next_step
from anvil_trio.operations.plan import Ingest as TakeIn
from anvil_trio.operations.recipe import Recipe, Registry
from anvil_trio.operations.rows import Standing
from anvil_trio.operations.states import AT_BACKEND
from anvil_trio.operations.store import Change
from anvil_trio.operations.writer import Writer

__all__ = ["Driver", "Pace"]

_INGESTS_AT_ONCE = 2  # each holds a whole file in memory


@dataclass(frozen=True, slots=True)
class Pace:
    """How often the backend is asked, and when an operation is given up; seconds.

    A pause doubles from `poll_s` while there is no news, to `slow_s`, and while there is no answer,
    to `away_s`.
    """

    poll_s: float = 1.0
    slow_s: float = 5.0
    away_s: float = 30.0
    max_age_s: float = 86_400.0


class Driver:
    """What all operations share; `drive` is one operation's own."""

    def __init__(
        self,
        writer: Writer,
        backend: Backend,
        registry: Registry,
        keeping: Keeping,
        bells: Bells,
        wall_clock: Callable[[], float],
        pace: Pace,
    ) -> None:
        self._writer, self._backend, self._registry = writer, backend, registry
        self._keeping, self._bells, self._wall_clock = keeping, bells, wall_clock
        self._pace = pace
        self._ingest = Ingest(backend, keeping)
        self._places = trio.CapacityLimiter(_INGESTS_AT_ONCE)

    async def drive(self, operation_id: str) -> None:
        """Until it has ended and nothing is owed; what cannot be reached is asked again, later."""
        key = job_key(operation_id)
        with self._bells.listening(key) as bell:  # not for what it rings itself
            pause_s = self._pace.poll_s
            while True:
                is_moved, most_s = False, self._pace.slow_s
                try:
                    standing = await self._writer.ask(lambda store: store.standing(operation_id))
                    if standing is None or _is_done(standing):
                        return
                    is_moved = await self._step(standing, key)
                except (BackendUnavailable, DatabaseFault, OSError):
                    most_s = self._pace.away_s
                if is_moved:
                    pause_s = self._pace.poll_s
                    continue
                with trio.move_on_after(pause_s):
                    await bell.wait()
                pause_s = max(self._pace.poll_s, min(2 * pause_s, most_s))

    async def _step(self, standing: Standing, key: str) -> bool:
        """One step; whether there may be another at once."""
        operation = standing.operation
        if operation.state.terminal:
            return await self._stop(standing, key)
        recipe = self._registry.recipe(operation.workflow_id, operation.version)
        if recipe is None:
            return await self._fail(operation, FailureCode.WORKFLOW_REMOVED)
        if self._wall_clock() - operation.created_s > self._pace.max_age_s:
            return await self._fail(operation, FailureCode.TIMED_OUT)
        if operation.state not in AT_BACKEND:
            return await self._prepare(standing, key, recipe)
        found = await self._backend.find(key, standing.handle)
        step = next_step(operation.state, found, standing.losses)
        return await self._take(step, standing, key, recipe)

    async def _stop(self, standing: Standing, key: str) -> bool:
        """What the backend may still do is owed to be stopped, and then is not."""
        await self._backend.cancel(key, standing.handle)
        await self._writer.ask(lambda store: store.stopped(standing.operation.id))
        return True

    async def _prepare(self, standing: Standing, key: str, recipe: Recipe) -> bool:
        operation = standing.operation
        if operation.state is State.AWAITING_APPROVAL:
            return False
        if operation.state is State.ACCEPTED:
            must_wait = recipe.workflow.requires_approval
            after = State.AWAITING_APPROVAL if must_wait else State.PREPARING
            return await self._turn(operation, after)
        if await self._job(standing, key, recipe) is None:
            return await self._fail(operation, FailureCode.INPUT_GONE)
        return await self._turn(operation, State.SUBMITTING)

    async def _take(self, step: Step, standing: Standing, key: str, recipe: Recipe) -> bool:
        operation = standing.operation
        match step:
            case Wait():
                return False
            case Turn(after):
                return await self._turn(operation, after)
            case Fail(code):
                return await self._fail(operation, code)
            case Submit(is_again):
                return await self._submit(standing, key, recipe, is_again=is_again)
            case TakeIn():
                async with self._places:
                    return await self._complete(operation, recipe.workflow.output_media_type, step)
            case _:
                assert_never(step)

    async def _submit(
        self, standing: Standing, key: str, recipe: Recipe, *, is_again: bool
    ) -> bool:
        operation = standing.operation
        job = await self._job(standing, key, recipe)
        if job is None:
            return await self._fail(operation, FailureCode.INPUT_GONE)
        if is_again:
            await self._writer.ask(lambda store: store.count_loss(operation.id))
        handle = await self._backend.submit(job)
        if isinstance(handle, Rejected):
            return await self._fail(operation, FailureCode.BACKEND_REJECTED)
        # Also where it was canceled meanwhile: by this name it is stopped.
        await self._writer.ask(lambda store: store.handed_over(operation.id, handle))
        return False if is_again else await self._turn(operation, State.QUEUED)

    async def _complete(self, operation: Operation, media_type: str, step: TakeIn) -> bool:
        now = self._wall_clock()
        taken = await self._ingest.take(operation, media_type, step.outputs, now)
        if isinstance(taken, FailureCode):
            return await self._fail(operation, taken)
        change = self._change(operation, State.COMPLETED, artifacts=taken)
        limit = self._keeping.max_stored_bytes
        done: Operation | FailureCode | DatabaseFault | None
        try:
            done = await self._writer.ask(lambda store: store.complete(change, limit))
        except DatabaseFault as fault:
            done = fault
        if isinstance(done, Operation):
            self._bells.ring(operation.id)
            return True
        await self._ingest.drop(taken)  # canceled meanwhile, too much, or to be taken again
        if isinstance(done, DatabaseFault):
            raise done
        return True if done is None else await self._fail(operation, done)

    async def _job(self, standing: Standing, key: str, recipe: Recipe) -> Job | None:
        """What the backend is to be told; None if an artifact to work on is not there any more."""
        artifacts = dict[str, bytes]()
        for parameter in recipe.workflow.parameters:
            if parameter.kind is Kind.ARTIFACT and parameter.name in standing.values:
                data = await self._input(standing, str(standing.values[parameter.name]))
                if data is None:
                    return None
                artifacts[parameter.name] = data
        return Job(key, recipe, standing.values, artifacts)

    async def _input(self, standing: Standing, artifact_id: str) -> bytes | None:
        principal, now = standing.operation.principal, self._wall_clock()
        found = await self._writer.ask(lambda store: store.artifact(principal, artifact_id, now))
        if found is None:
            return None
        keeping = self._keeping
        try:
            return await keeping.aside(lambda: keeping.files.read(found.id, 0, found.size))
        except FileNotFoundError:
            return None

    async def _turn(self, operation: Operation, after: State) -> bool:
        return await self._write(self._change(operation, after))

    async def _fail(self, operation: Operation, code: FailureCode) -> bool:
        return await self._write(self._change(operation, State.FAILED, failure=code))

    async def _write(self, change: Change) -> bool:
        """Whoever was quicker (a cancel) decides; the next step looks again in any case."""
        await self._writer.ask(lambda store: store.change(change))
        self._bells.ring(change.operation_id)
        return True

    def _change(
        self,
        operation: Operation,
        after: State,
        *,
        failure: FailureCode | None = None,
        artifacts: Sequence[Artifact] = (),
    ) -> Change:
        now = self._wall_clock()
        return Change(operation.id, operation.state, after, now, failure, artifacts)


def _is_done(standing: Standing) -> bool:
    return standing.operation.state.terminal and not standing.is_stop_owed
