"""Receipts: what a request created before, if the same one was already carried out."""

from collections.abc import Sequence

from codefleet.domain.errors import Invalid
from codefleet.domain.model import Memory, Receipt, Repo, Team
from codefleet.domain.noun import Record
from codefleet.ports import Store, Write


async def made_before(store: Store, receipt: Receipt) -> Sequence[str]:
    """What the same request created before, if it was made; another one is refused."""
    found = await store.records(Receipt, ids=[receipt.id])
    if found and found[0].request != receipt.request:
        raise Invalid(
            "this key was used for another request", hint="use a new key for each request"
        )
    return found[0].made if found else ()


def made_by(step: Write) -> Sequence[str]:
    """The names of what a step creates. If that is only an event, which has none, the event."""
    tasks = (task.id for task in step.tasks if task.version == 0)
    records = (_name_of(record) for record in step.records if _is_made(record))
    return (*tasks, *records) or tuple(told.json() for told in step.events)


def _is_made(record: Record) -> bool:
    """Does a step that writes this create it? Storing a memory again replaces the whole of it."""
    return record.version == 0 or isinstance(record, Memory)


def _name_of(record: Record) -> str:
    """What names a new record to its reader."""
    return record.name if isinstance(record, Repo | Team) else str(getattr(record, "id", ""))
