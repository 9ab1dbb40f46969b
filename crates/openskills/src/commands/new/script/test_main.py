"""Run with: openskills run NAME tests/test_main.py"""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "scripts"))

import main


class AnswerTest(unittest.TestCase):
    def test_words_are_counted(self):
        self.assertEqual(main.answer({"text": "one two  three"}), {"words": 3})

    def test_nothing_has_no_words(self):
        self.assertEqual(main.answer({}), {"words": 0})


if __name__ == "__main__":
    unittest.main()
