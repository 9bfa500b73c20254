"""What a look at the first tasks says about the rest of a search."""

from codefleet.store.text_search import MOST, Look


def look(*has: str | None, looked: int = 4, fits: bool = True) -> Look:
    return Look([(f"t{number}", each, fits) for number, each in enumerate(has)], looked)


def test_a_task_is_found_when_it_has_all_words_and_fits() -> None:
    assert look("11", "10", "00", None, "11").found(None) == ["t0", "t4"]
    assert look("11", "11", "11").found(2) == ["t0", "t1"]
    assert look("11", fits=False).found(None) == []


def test_a_look_at_all_tasks_is_enough_and_so_is_one_that_found_as_many_as_wanted() -> None:
    assert look("0", "0", "0").is_enough(50)
    assert look("0", "0", "0").is_enough(None)
    assert look("1", "1", "0", "0").is_enough(2)
    assert not look("1", "1", "0", "0").is_enough(3)
    assert not look("1", "1", "0", "0").is_enough(None)


def test_a_longer_look_is_worth_it_only_when_the_first_promises_enough() -> None:
    assert look("1", "0", "0", "0").further(50) == 400
    assert look("1", *["0"] * 99).further(MOST) is None
    assert look("0", "0", "0", "0").further(1) is None
    assert look("1", "0", "0", "0").further(None) is None


def test_the_rarest_word_is_that_of_the_fewest_tasks_and_of_two_such_the_longer() -> None:
    asked = [" login", " mail", " me "]
    assert look("110", "110", "011").rarest(asked) == " me "
    assert look("110", "011", None).rarest(asked) == " login"
    assert look().rarest(asked) == " login"
