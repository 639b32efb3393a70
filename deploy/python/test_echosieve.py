"""Tests of the package: pytest, or python -m unittest without it. The program is the one of the package or in PATH."""

from __future__ import annotations

import datetime
import queue
import tempfile
import unittest
from collections.abc import Iterator
from typing import Any, Optional

import echosieve

BRIDGE = (
    "The city council approved a $4.2 million plan on Tuesday to rebuild the old harbour bridge, which was closed in "
    "March after a barge struck one of its piers."
)
BARLEY = (
    "Researchers at the college of agriculture said that a new variety of barley needs a third less water than those "
    "that are grown today in the dry valley."
)


def kinds(articles: Any, **options: Any) -> list[str]:
    return [verdict.kind for _, verdict in echosieve.filter(articles, **options)]


class TestFilter(unittest.TestCase):
    def test_verdicts(self) -> None:
        articles = [
            {"id": "a", "text": BRIDGE},
            {"id": "b", "text": BARLEY},
            {"id": "c", "text": "RIVERTON (Press) - " + BRIDGE},
            {"id": "d", "text": BARLEY},
        ]
        judged = list(echosieve.filter(iter(articles)))
        self.assertTrue(all(got is sent for (got, _), sent in zip(judged, articles)))
        verdicts = [verdict for _, verdict in judged]
        self.assertEqual(["unique", "unique", "near", "exact"], [v.kind for v in verdicts])
        self.assertEqual(["unique", "unique", "duplicate", "duplicate"], [v.topic for v in verdicts])
        self.assertEqual(echosieve.Ref("a", verdicts[0].record), verdicts[2].original)
        self.assertEqual(verdicts[2].original, verdicts[2].root)
        self.assertGreater(verdicts[2].similarity, 0.8)
        self.assertIsNone(verdicts[0].original)
        self.assertEqual([], kinds([]))

    def test_unusual_articles(self) -> None:
        articles: list[dict[str, Any]] = [
            {"index": {}},
            {"payload": "text", "offset": 1},
            {"text": "x" * (2 << 20)},
            {"id": "half a pair \ud800", "text": BRIDGE + " \ud83c"},
            {"text": "港口大桥将于三月重建，市议会周二批准了计划。", "ts": datetime.datetime(2026, 1, 1)},
        ]
        judged = [verdict for _, verdict in echosieve.filter(articles)]
        self.assertEqual(["dead"] * 3, [v.kind for v in judged[:3]])
        self.assertIn("bytes", judged[2].detail)
        self.assertEqual("unique", judged[4].kind)

    def test_streams_within_bounds(self) -> None:
        pulled = 0

        def articles() -> Iterator[dict[str, str]]:
            nonlocal pulled
            for pulled in range(1, 3 * echosieve._AHEAD):
                yield {"id": str(pulled), "text": f"{pulled} {BRIDGE} {pulled}"}

        read = 0
        for article, _ in echosieve.filter(articles()):
            read += 1
            self.assertEqual(str(read), article["id"])
            self.assertLessEqual(pulled, read + echosieve._AHEAD)
        self.assertEqual(pulled, read)

    def test_verdict_comes_before_the_next_article(self) -> None:
        feed: queue.SimpleQueue[Optional[dict[str, str]]] = queue.SimpleQueue()
        verdicts = echosieve.filter(iter(feed.get, None))
        for expected in ("unique", "exact", "exact"):
            feed.put({"text": BRIDGE})
            self.assertEqual(expected, next(verdicts)[1].kind)
        feed.put(None)
        self.assertEqual([], list(verdicts))

    def test_errors(self) -> None:
        with self.assertRaisesRegex(echosieve.Error, "^(?!echosieve).*window"):
            kinds([{"text": BRIDGE}], window="soon")
        with self.assertRaisesRegex(TypeError, "an article holds a set"):
            kinds([{"text": BRIDGE}, {"text": {1}}])
        with self.assertRaisesRegex(ValueError, "put None in place of NaN"):
            kinds([{"text": BRIDGE, "n": float("nan")}])
        for args in ("--input.format html", [7]):
            with self.assertRaisesRegex(TypeError, "^args is a list of texts"):
                kinds([{"text": BRIDGE}], args=args)
        with self.assertRaisesRegex(echosieve.Error, "^--state is empty"):
            kinds([{"text": BRIDGE}], state="")

        for flag in ("--only", "--only=unique", "--stories", "--unique", "--state"):
            with self.assertRaisesRegex(ValueError, f"^{flag.split('=')[0]} in args: "):
                kinds([{"text": BRIDGE}], args=[flag, "unique"])
        with self.assertRaisesRegex(TypeError, "an article is a mapping with its text under 'text'"):
            kinds(["text"])
        with self.assertRaisesRegex(TypeError, "window is a text such as '7d'"):
            kinds([{"text": BRIDGE}], window=3600)
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
            file.write('{"text":"x"}\n')
            file.flush()
            with self.assertRaisesRegex(echosieve.Error, "args has the name of a file"):
                kinds([{"text": BRIDGE}], args=[file.name])

        def broken() -> Iterator[dict[str, str]]:
            yield {"text": BRIDGE}
            raise ConnectionError("the feed is gone")

        with self.assertRaisesRegex(ConnectionError, "the feed is gone"):
            kinds(broken())

    def test_state(self) -> None:
        with tempfile.TemporaryDirectory() as state:
            articles = [{"text": BRIDGE}, {"text": BARLEY}]
            week = datetime.timedelta(days=7)
            early = echosieve.filter(articles, state=state, window=week)
            self.assertEqual("unique", next(early)[1].kind)
            early.close()
            self.assertEqual(["unique", "unique"], kinds(articles, state=state, window="7d"), "the run is repeated")
            self.assertEqual(["exact", "exact"], kinds(articles, state=state))
            feed: queue.SimpleQueue[dict[str, str]] = queue.SimpleQueue()
            feed.put(articles[0])
            first = echosieve.filter(iter(feed.get, {}), state=state)
            next(first)
            with self.assertRaisesRegex(echosieve.Error, "another process has the folder"):
                kinds(articles, state=state)
            first.close()


if __name__ == "__main__":
    unittest.main()
