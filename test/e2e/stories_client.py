"""A reader of strangers: folds the output topics into stories and compares them with the topic of stories.

Arguments: brokers, topic of stories, and the output topics. It ends with 0 when the last record of each key says what
the fold says, except for version and state, which depend on the way to a story. After four minutes it prints a difference and ends with 1.
Without addresses and published times: what stands in the values of the test.
"""
import json
import sys
import time
from datetime import datetime, timezone

from confluent_kafka import Consumer, TopicPartition

brokers, stories_topic, *topics = sys.argv[1:]
NAMED, RELATED = 64, 16


def read(names):
    """The records of topics from their starts to the ends that they have now."""
    consumer = Consumer({"bootstrap.servers": brokers, "group.id": "stranger", "isolation.level": "read_committed", "enable.partition.eof": True})
    places = [TopicPartition(name, p, 0) for name in names for p in consumer.list_topics(name, 10).topics[name].partitions]
    consumer.assign(places)
    open_ = {(place.topic, place.partition) for place in places}
    while open_:
        record = consumer.poll(10)
        if record is None:
            continue
        if record.error():
            open_.discard((record.topic(), record.partition()))
        else:
            yield record
    consumer.close()


def place(text):
    topic, partition, offset = text.rsplit("/", 2)
    return topic, int(partition), int(offset)


def fold():
    articles, copies, related = {}, {}, {}
    for record in read(topics):
        headers = {name: value.decode() for name, value in record.headers() or []}
        if "echosieve-verdict" not in headers or not record.value():
            continue
        value, at = json.loads(record.value()), headers["echosieve-input"]
        articles[at] = {
            "id": value.get("id") or at, "at": at, "publisher": value.get("source", ""), "title": value.get("title", ""),
            "time": record.timestamp()[1], "length": sum(not c.isspace() for c in value["text"]), "verdict": headers["echosieve-verdict"],
            "relation": headers.get("echosieve-relation", "none"), "root": False,
        }
        if headers["echosieve-verdict"] == "possible":
            related.setdefault(headers["echosieve-original"], []).append(articles[at])
        elif headers["echosieve-verdict"] != "unique":
            copies.setdefault(headers["echosieve-root"], []).append(articles[at])
    return {root: story(dict(articles[root], root=True, relation="root"), members, related.get(root, [])) for root, members in copies.items()}


def story(root, copies, related):
    def earliest(a):
        return a["time"], not a["root"], place(a["at"])

    members = sorted([root, *copies], key=earliest)
    by_name = {}
    for a in members:
        by_name.setdefault(a["publisher"], []).append(a)
    # of publishers that came at the same moment, the names tell who is among the first
    first = sorted(by_name, key=lambda name: (by_name[name][0]["time"], name))[:NAMED]
    revised = {name: sum(a["relation"] in ("revises", "extends") for a in by_name[name]) for name in by_name}
    best = min(members, key=lambda a: (-a["length"], earliest(a)))
    alike = [a for a in members if a["length"] == best["length"]]
    return {
        "root": brief(root), "copies": len(copies), "exact": sum(a["verdict"] == "exact" for a in copies),
        "near": sum(a["verdict"] == "near" for a in copies), "publishers": len(by_name),
        "first": {"publisher": members[0]["publisher"], "id": members[0]["id"], "coordinates": members[0]["at"], "time": clock(members[0]["time"])},
        "by_publisher": [
            {"name": name, "copies": sum(not a["root"] for a in by_name[name]), "first_time": clock(by_name[name][0]["time"]),
             "id": by_name[name][0]["id"], "coordinates": by_name[name][0]["at"], "relation": by_name[name][0]["relation"]}
            for name in sorted(first, key=lambda name: earliest(by_name[name][0]))],
        "first_time": clock(members[0]["time"]), "last_time": clock(max(a["time"] for a in members)),
        "best": {"id": best["id"], "coordinates": best["at"], "publisher": best["publisher"], "why": "longest" if len(alike) == 1 else "earliest"},
        "versions": sum(min(revised[name], len(by_name[name]) - 1) for name in by_name),
        **({"related": [brief(a) for a in sorted(related, key=lambda a: (a["time"], place(a["at"])))[:RELATED]]} if related else {}),
    }


def brief(a):
    return {"id": a["id"], "coordinates": a["at"], "publisher": a["publisher"], **({"title": a["title"]} if a["title"] else {}), "time": clock(a["time"])}


def clock(ms):
    text = datetime.fromtimestamp(ms // 1000, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
    return text + (f".{ms % 1000:03}".rstrip("0") if ms % 1000 else "") + "Z"


want = fold()
for _ in range(240):
    got = {}
    for record in read([stories_topic]):
        got[record.key().decode()] = {k: v for k, v in json.loads(record.value()).items() if k not in ("version", "state")}
    if got == want:
        print(len(want), sum(s["copies"] for s in want.values()), max(s["publishers"] for s in want.values()))
        sys.exit()
    time.sleep(1)
for root in sorted(want.keys() | got.keys()):
    if want.get(root) != got.get(root):
        sys.exit(f"{root}: the fold says\n{json.dumps(want.get(root))}\nand the record\n{json.dumps(got.get(root))}")
