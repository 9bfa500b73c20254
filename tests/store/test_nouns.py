"""The table of nouns has every record, and the contract has an example of each."""

from codefleet.domain.noun import Record
from codefleet.store import nouns
from tests.store.test_contract_nouns import SMALL

KEPT = {kind.noun for kind in nouns.RECORDS}


def test_every_record_is_in_the_table() -> None:
    assert {*Record.__subclasses__()} == KEPT


def test_the_contract_is_checked_with_every_record() -> None:
    assert {type(record) for step in SMALL for record in step.records} == KEPT


def test_what_is_exported_also_moves() -> None:
    assert {*nouns.leaving(moving=False)} <= {*nouns.leaving(moving=True)}
