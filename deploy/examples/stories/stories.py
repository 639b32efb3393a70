"""Keeps a file with one line of JSON for each story, the largest first: stories.py BROKERS TOPIC FILE

Needs: pip install confluent-kafka. The topic holds the last record of each story, under the same key. So a process that starts reads the
topic from its beginning, and commits nothing.
"""
import json
import os
import signal
import sys

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

brokers, topic, file = sys.argv[1:]
consumer = Consumer({
    "bootstrap.servers": brokers,
    "group.id": "stories",  # the library wants a name, but assign joins no group
    "isolation.level": "read_committed",
    "enable.auto.commit": False,
})
consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])  # the topic has one partition
stopped = False


def stop(*_):
    global stopped
    stopped = True


signal.signal(signal.SIGTERM, stop)
signal.signal(signal.SIGINT, stop)
stories = {}
while not stopped:
    records = consumer.consume(1000, timeout=1)
    for record in records:
        if record.error():
            if record.error().code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                continue  # "echosieve stories" creates it later
            raise KafkaException(record.error())
        if record.value():
            stories[record.key()] = json.loads(record.value())  # the last record of a key counts
        else:
            stories.pop(record.key(), None)  # somebody has deleted the story
    if records:
        with open(file + ".new", "w", encoding="utf-8") as lines:
            for story in sorted(stories.values(), key=lambda s: -s["copies"]):
                lines.write(json.dumps(story, ensure_ascii=False) + "\n")
        os.replace(file + ".new", file)  # who reads it meanwhile sees the old one or the new one
consumer.close()
