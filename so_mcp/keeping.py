"""What keeps a scenario: checking it, mending it, taking it out and back in, forgetting."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Self

from . import forgetting as _forgetting
from . import transfer as _transfer
from .access import Access
from .database import Transaction
from .embedded import EmbeddedStore
from .errors import InvalidInputError, NotGrantedError
from .events import LoggedEvent
from .log import log_as_of
from .names import brief
from .naming import Naming
from .progress import Progress, silent
from .rebuild import built
from .recorder import Recorder
from .verify import Difference, repair, verify

if TYPE_CHECKING:
    from .world import World


class Keeping(Access):
    """The methods of `Memory` that are about its scenario as a whole."""

    _recorder: Recorder
    _naming: Naming
    _writing: threading.Lock

    def verify(self) -> list[Difference]:
        """Compare every mind, and the world, with a replay of the log; empty when all are equal."""
        return verify(self.database, self.scenario)

    def repair(self, agent: str | None = None) -> list[Difference]:
        """Make everything, or one agent's mind, what the log says again; what differed before.

        What is "missing" from the log itself cannot be mended.
        """
        with self._writing:
            return repair(self.database, self.scenario, self._recorder, agent)

    @contextmanager
    def as_recorded(self, step: int | None) -> Iterator[Self]:
        """The scenario as it was recorded by the event of that number, whatever came later.

        What was voided or recorded late since then is as it was; only what was forgotten stays so.
        For asking: what is recorded in it goes with it when the block ends. None: as it is now.
        """
        if step is None:
            yield self
            return
        log, world = self._log_and_world()
        if isinstance(step, bool) or not isinstance(step, int) or not 0 <= step <= world.seq:
            raise InvalidInputError(
                f"as_recorded: expected the number of an event, 0 to {world.seq}, got {brief(step)}."
            )
        part = [event for event in log if event.seq <= step]
        with built(
            self.database, self.scenario, part, world.settings, world.aliases
        ) as name:
            yield self._opened(name)

    def export(self, progress: Progress = silent) -> Iterator[str]:
        """The scenario as lines of JSON (see `so_mcp.transfer`), a page of the log at a time."""
        return _transfer.export(self.database, self.scenario, progress)

    def import_log(self, lines: Iterable[str], progress: Progress = silent) -> int:
        """Make this scenario, in which nothing has happened yet, what `export` wrote.

        Returns how many events that is. Of a file that is wrong anywhere nothing is written.
        """
        file = _transfer.read(lines)
        with self._writing:
            return _transfer.import_log(
                self.database, self.scenario, self._recorder, file, progress
            )

    def forget(
        self,
        *,
        agent: str | None = None,
        entity: str | None = None,
        event: int | str | None = None,
        progress: Progress = silent,
    ) -> _forgetting.Forgotten:
        """Erase an agent's name, all that is about an entity, or what one event said; for ever.

        From the log, every mind and every fork. What everyone holds of it becomes unknown, and
        nothing older revives. An agent's login goes too. See `so_mcp.forgetting` for what stays.
        """
        named: dict[_forgetting.What, int | str | None] = {
            "agent": agent, "entity": entity, "event": event
        }
        given = [(what, name) for what, name in named.items() if name is not None]
        if len(given) != 1:
            raise InvalidInputError("forget: expected exactly one of agent, entity or event.")
        [(what, name)] = given
        if agent is not None:
            name = self._canonical(agent)
        with self._writing:
            forgotten = _forgetting.forget(
                self.database, self.scenario, self._naming.remaking, what, name, progress
            )
        if agent is not None:
            with suppress(NotGrantedError):
                self.revoke(str(name), self.scenario)
        if isinstance(self.store, EmbeddedStore):
            self.store.clear_log()
        return forgotten

    def _canonical(self, agent: str) -> str:
        aliases = {(a.kind, a.name): a.of for a in self._naming.vocabulary().aliases}
        return aliases.get(("agent", agent), agent)

    def _log_and_world(self) -> tuple[list[LoggedEvent], World]:
        def attempt(transaction: Transaction, world: World) -> tuple[list[LoggedEvent], World]:
            log = log_as_of(transaction, self.scenario, world.seq)
            transaction.unwatch()
            return log, world

        return self._recorder.transact(attempt)

    def _opened(self, name: str) -> Self:
        """The same memory, of another scenario."""
        raise NotImplementedError
