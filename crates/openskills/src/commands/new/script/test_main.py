"""Run with: openskills run NAME tests/test_main.py"""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "scripts"))

import main


class CountWordsTest(unittest.TestCase):
    def test_counts_words(self):
        self.assertEqual(main.count_words({"text": "one two  three"}), {"words": 3})

    def test_empty_input_has_no_words(self):
        self.assertEqual(main.count_words({}), {"words": 0})


if __name__ == "__main__":
    unittest.main()
