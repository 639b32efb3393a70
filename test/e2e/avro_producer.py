"""A producer of strangers: Confluent's client with its Avro serializer. Publishes the JSON articles of stdin, one a line.

Arguments: brokers, topic, address of the schema registry, and "value" or "header" for the place of the schema's id.
"""
import json
import sys

from confluent_kafka import Producer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

SCHEMA = """{"type": "record", "name": "Article", "namespace": "press", "fields": [
  {"name": "id", "type": ["null", "string"], "default": null},
  {"name": "title", "type": ["null", "string"], "default": null},
  {"name": "story", "type": {"type": "record", "name": "Story", "fields": [
    {"name": "text", "type": "string"}, {"name": "words", "type": {"type": "array", "items": "int"}}]}},
  {"name": "tags", "type": {"type": "map", "values": "string"}}]}"""

brokers, topic, registry, place = sys.argv[1:]


def id_in_header(payload, ctx, schema_id):
    """Does what header_schema_id_serializer does, with the number: the registry of the test gives producers no UUID."""
    ctx.headers.append(("__value_schema_id", schema_id.id_to_bytes()))
    return payload


conf = {"schema.id.serializer": id_in_header} if place == "header" else {}
serialize = AvroSerializer(SchemaRegistryClient({"url": registry}), SCHEMA, conf=conf)
producer = Producer({"bootstrap.servers": brokers, "compression.type": "lz4"})
failed = []
for line in sys.stdin:
    article = json.loads(line)
    value = {
        "id": article.get("id"), "title": article.get("title"), "tags": {"lang": "zh"},
        "story": {"text": article["text"], "words": list(range(len(article["text"]) % 300))},
    }
    headers = []
    value = serialize(value, SerializationContext(topic, MessageField.VALUE, headers))
    producer.produce(topic, value=value, key=article.get("id"), headers=headers, on_delivery=lambda err, _: err and failed.append(err))
    producer.poll(0)
producer.flush(60)
sys.exit(f"not delivered: {failed[0]}" if failed else 0)
