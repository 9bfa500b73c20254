import unittest

from tally.words import words


class Words(unittest.TestCase):
    def test_a_sentence_of_three_words_has_three(self) -> None:
        self.assertEqual(words("one two three"), 3)
