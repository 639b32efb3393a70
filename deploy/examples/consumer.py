"""Prints what Echosieve has decided, one JSON object a line: consumer.py BROKERS GROUP TOPIC...

Needs: pip install confluent-kafka. Offsets are committed after the work: a record whose work was not finished comes again.
"""
import json
import signal
import sys

from confluent_kafka import Consumer, KafkaError, KafkaException

brokers, group, *topics = sys.argv[1:]
consumer = Consumer({
    "bootstrap.servers": brokers,
    "group.id": group,
    "auto.offset.reset": "earliest",
    # Echosieve publishes in transactions. Aborted ones stay invisible; their markers and those of commits are no records, but take offsets.
    "isolation.level": "read_committed",
    "enable.auto.offset.store": False,
})
consumer.subscribe(topics)
stopped = False


def stop(*_):
    global stopped
    stopped = True


signal.signal(signal.SIGTERM, stop)
signal.signal(signal.SIGINT, stop)
while not stopped:
    record = consumer.poll(1)
    if record is None:
        continue
    if record.error():
        if record.error().code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            continue  # the service creates it later
        raise KafkaException(record.error())
    headers = {name: value.decode() for name, value in record.headers() or [] if name.startswith("echosieve-")}
    article = json.loads(record.value()) if record.value() else {}  # an empty value deletes the article of the key
    print(json.dumps({
        "input": headers["echosieve-input"],
        "verdict": headers.get("echosieve-verdict"),
        "relation": headers.get("echosieve-relation"),
        "original": headers.get("echosieve-original-id"),
        "id": article.get("id"),
    }), flush=True)
    consumer.store_offsets(record)
consumer.close()  # commits the stored offsets
