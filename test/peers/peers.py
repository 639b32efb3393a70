"""CPU time per article of Echosieve, of a bare gojieba.Cut and of Python packages, by turns. Called by run.

Each program gets the texts of the same articles. Ratios are of one round, and the table shows their medians over the rounds.
"""
import gzip
import json
import logging
import math
import re
import statistics
import subprocess
import sys
import time
import unicodedata

import jieba
import jieba.analyse
from rensa import RMinHash, RMinHashLSH
from simhash import Simhash

LIMIT = 2000  # articles
SHINGLE = 5  # characters


def read(name):
    with (gzip.open if name.endswith(".gz") else open)(name, "rt", encoding="utf-8") as lines:
        texts = []
        for line in lines:
            try:
                text = json.loads(line)["text"]
            except (ValueError, KeyError, TypeError):
                continue
            if isinstance(text, str) and text:
                texts.append(text)
    return texts[:LIMIT]


def cut(texts):
    """Python's jieba, cutting only."""
    for text in texts:
        jieba.lcut(text)


def classic(texts):
    """The recipe classic-python-200: jieba's 200 heaviest words, then the package simhash."""
    stop_words = jieba.analyse.default_tfidf.stop_words
    for text in texts:
        total = sum(1 for word in jieba.cut(text) if len(word.strip()) > 1 and word.lower() not in stop_words)
        tags = jieba.analyse.extract_tags(text, topK=200, withWeight=True)
        features = [(word, math.floor(weight * total)) for word, weight in tags]
        if any(weight > 255 for _, weight in features):  # more than NumPy 2 multiplies bytes with
            features = [(word, float(weight)) for word, weight in features]
        if features:
            Simhash(features)


def shingles(text):
    text = re.sub(r"\s+", " ", unicodedata.normalize("NFKC", text)).strip().lower()
    return [text[i:i + SHINGLE] for i in range(max(1, len(text) - SHINGLE + 1))]


def minhash(texts):
    """rensa: MinHash with 128 permutations over the shingles of the cleaned text, looked up and stored in its LSH index."""
    index = RMinHashLSH(threshold=0.5, num_perm=128, num_bands=32)
    for number, text in enumerate(texts):
        sketch = RMinHash(num_perm=128, seed=42)
        sketch.update(shingles(text))
        index.query(sketch)
        index.insert(number, sketch)


PEERS = {"jieba 0.42.1, cut only": cut, "jieba and simhash 2.1.2 (classic-python-200)": classic, "rensa 0.5.0": minhash}


def main(lab, name, rounds):
    jieba.setLogLevel(logging.WARNING)
    jieba.initialize()
    jieba.analyse.extract_tags("加载")
    texts = read(name)
    rows = {}
    for _ in range(rounds):
        bench = json.loads(subprocess.check_output([lab, "bench", "--json", "--rounds", "1", "--limit", str(LIMIT), name]))
        if "bare_cut_us" not in bench:
            sys.exit("echosieve-lab was built without cgo, so there is no gojieba to compare with")
        spent = {"gojieba.Cut": bench["bare_cut_us"], "Echosieve, text to verdict": bench["whole_us"]}
        for peer, measured in PEERS.items():
            start = time.process_time()
            measured(texts)
            spent[peer] = (time.process_time() - start) / len(texts) * 1e6
        for row, us in spent.items():
            rows.setdefault(row, []).append((us, us / spent["gojieba.Cut"]))
    print(f"{name}: {len(texts)} articles of {sum(len(t.encode(errors='replace')) for t in texts) // len(texts)} bytes, median of {rounds} rounds")
    print(f"{'':46}{'CPU us':>8}{'of gojieba.Cut':>16}")
    for row, list in rows.items():
        print(f"{row:46}{statistics.median(us for us, _ in list):8.0f}{statistics.median(ratio for _, ratio in list):16.2f}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
