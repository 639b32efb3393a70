"""Verdicts of Echosieve on the articles of any iterable: copies of news articles are found without a server.

    for article, verdict in echosieve.filter(articles):
        print(article["id"], verdict.kind)
"""

from __future__ import annotations

import collections
import contextlib
import datetime
import importlib.metadata
import json
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import IO, Any, Literal, Optional, TypeVar, Union

__all__ = ["Article", "Error", "Ref", "Verdict", "filter"]

Article = TypeVar("Article", bound=Mapping[str, Any])


class Error(Exception):
    """The program failed. The text is its message, which says what to do."""


@dataclass(frozen=True)
class Ref:
    """Another article."""

    id: str
    record: str  # stdin/RUN/NUMBER: the place at which it was read


@dataclass(frozen=True)
class Verdict:
    """What is known of an article. docs/output.md of Echosieve explains the values."""

    kind: Literal["unique", "possible", "near", "exact", "dead"]  # near and exact are copies; dead: no text was found
    topic: Literal["unique", "possible", "duplicate", "dead"]
    record: str
    reason: str = ""
    detail: str = ""  # of a dead article: what is wrong with it
    relation: Literal["", "equal", "contained", "extends", "revises", "overlaps"] = ""
    similarity: float = 0.0  # share of the word pairs that both articles have, 0 to 1
    contained: float = 0.0  # share of this article's word pairs that the original has
    contains: float = 0.0  # share of the original's word pairs that this article has
    distance: Optional[int] = None  # from the original, in bits
    original: Optional[Ref] = None  # of a copy or possible copy: the article that it repeats
    root: Optional[Ref] = None  # of a copy: the first article of the chain
    left_out: float = 0.0  # share of the text that does not count, such as menus


def filter(
    articles: Iterable[Article],
    *,
    window: Union[str, datetime.timedelta, None] = None,
    state: Union[str, os.PathLike[str], None] = None,
    args: Sequence[str] = (),
) -> Generator[tuple[Article, Verdict], None, None]:
    """Yield each article with its verdict, in order.

    An article is a mapping that JSON can hold, with its text under "text" and perhaps its id under "id".
    A thread takes articles from the iterable ahead of the verdicts, at most a few thousand. A verdict comes as soon
    as it is known, so the iterable may be endless, and may wait for what is done with earlier verdicts.

    window: how far back copies are searched, such as "7d"; see --window.
    state: folder that keeps the articles for later runs; see --state. If the generator is closed before its end, the
        next run repeats this one: the same articles in the same order get the same verdicts again.
    args: further flags of "echosieve filter" that are settings, such as ["--input.fields.text", "body"].

    Raises Error if the program fails, and what the iterable raises. The program is started with the first next()
    and ends when the generator is closed.
    """
    if isinstance(args, str) or not all(isinstance(arg, str) for arg in args):
        raise TypeError(f"args is a list of texts, such as ['--input.fields.text', 'body'], and not {args!r}")
    for arg in args:
        name = arg.split("=")[0]
        if name in _OTHER_LINES:
            raise ValueError(f"{name} in args: {_OTHER_LINES[name]}")
    if window is not None and not isinstance(window, (str, datetime.timedelta)):
        raise TypeError(f"window is a text such as '7d' or '12h', or a datetime.timedelta, and no {type(window).__name__}")
    command = [_program(), "filter", "--lines", "--headers-only", *args, "-"]
    if window is not None:
        command += ["--window", f"{window.total_seconds()}s" if isinstance(window, datetime.timedelta) else window]
    if state is not None:
        command += ["--state", os.fspath(state)]
    with tempfile.TemporaryFile() as messages:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=messages)
        assert process.stdin is not None and process.stdout is not None
        writer = _Writer(process, process.stdin, articles)
        try:
            for line in process.stdout:
                verdict = _verdict(json.loads(line)["echosieve"])
                if not verdict.record.startswith("stdin/"):
                    raise Error("args has the name of a file: give its articles as the first argument")
                yield writer.waiting[0], verdict
                writer.done()
            code = process.wait()
            if writer.failure is not None:
                raise writer.failure
            if code not in (0, 1):  # 1: some articles are dead
                messages.seek(0)
                text = messages.read().decode(errors="replace").strip() or f"exit code {code}"
                raise Error(text[len(_PREFIX) :] if text.startswith(_PREFIX) else text)
        finally:
            writer.stop()
            process.stdout.close()
            process.wait()
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()


# Flags that change how many lines the program writes, or which ones it reads: each article has one verdict.
_OTHER_LINES = {
    **dict.fromkeys(
        ("--only", "--unique", "--duplicate", "--dead"),
        "each article comes with its verdict: choose by verdict.topic instead",
    ),
    **dict.fromkeys(
        ("--headers-only", "--lines", "--stories", "--owners", "-h", "--help"),
        "not from Python: use the command echosieve filter",
    ),
    "--state": "use the parameter state",
    "--window": "use the parameter window",
}

_PREFIX = "echosieve: "  # of messages of the program
_AHEAD = 2048  # articles that wait for their verdicts, at most


class _Writer(threading.Thread):
    """Writes articles to the program. It keeps each until the verdict is there."""

    def __init__(self, process: subprocess.Popen[bytes], stdin: IO[bytes], articles: Iterable[Any]) -> None:
        super().__init__(name="echosieve", daemon=True)
        self.failure: Optional[BaseException] = None
        self._process = process
        self._stdin = stdin
        self._articles = articles
        self.waiting: collections.deque[Any] = collections.deque()
        self._exhausted = False
        self._ending = threading.Lock()
        self._room = threading.Semaphore(_AHEAD)
        self._stopped = False
        self.start()

    def run(self) -> None:
        try:
            for article in self._articles:
                self._room.acquire()
                if self._stopped:
                    return
                if not isinstance(article, Mapping):
                    raise TypeError(
                        f"an article is a mapping with its text under 'text', such as {{'text': '...'}}, and no "
                        f"{type(article).__name__}"
                    )
                try:
                    line = json.dumps(dict(article), ensure_ascii=False, allow_nan=False, default=_default)
                except ValueError as error:
                    raise ValueError(f"an article is no JSON: {error}; put None in place of NaN and infinity") from error
                self.waiting.append(article)
                self._write(line.encode(errors="backslashreplace"))  # half of a surrogate pair becomes its escape
            self._exhausted = True
            self._end()
        except BrokenPipeError:
            pass  # the program has ended; its message says why
        except BaseException as error:
            self.failure = error
            self._process.terminate()  # the end of the input would make it a whole run

    def _write(self, line: bytes) -> None:
        self._stdin.write(line + b"\n")
        self._stdin.flush()

    def done(self) -> None:
        """Forget the first waiting article: the caller is done with its verdict."""
        self.waiting.popleft()
        self._room.release()
        self._end()

    def _end(self) -> None:
        """End the input once the caller is done with all verdicts: from then on the run counts as a whole one."""
        with self._ending:
            if self._exhausted and not self.waiting:
                self._stdin.close()

    def stop(self) -> None:
        """End the program if it runs, and the thread with the next article that it gets."""
        self._stopped = True
        if self._process.poll() is None:
            self._process.terminate()
        self._room.release()


def _default(value: Any) -> str:
    if isinstance(value, datetime.date):  # and datetime
        return value.isoformat()
    raise TypeError(f"an article holds a {type(value).__name__}, which JSON does not have")


def _verdict(member: dict[str, Any]) -> Verdict:
    known = {field.name: member[field.name] for field in fields(Verdict) if field.name in member}
    for name in ("original", "root"):
        if name in known:
            known[name] = Ref(**known[name])
    return Verdict(kind=member["verdict"], **known)


def _program() -> str:
    """Return the path of the program, wherever pip has put the scripts of this package."""
    try:
        installed = importlib.metadata.files("echosieve") or []
    except importlib.metadata.PackageNotFoundError:
        installed = []
    for path in (str(file.locate()) for file in installed if file.name == "echosieve"):
        if os.access(path, os.X_OK):
            return path
    found = shutil.which("echosieve")
    if found is None:
        raise Error("the program echosieve is not there: install this package again")
    return found
