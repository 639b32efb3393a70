"""Drops copies in Scrapy: ITEM_PIPELINES = {"scrapy_pipeline.DropCopies": 300}. Needs: pip install echosieve-*.whl"""
import queue

import echosieve
from scrapy.exceptions import DropItem


class DropCopies:
    def open_spider(self, spider=None):
        self.items = queue.SimpleQueue()
        self.verdicts = echosieve.filter(iter(self.items.get, None), state="seen")

    def process_item(self, item, spider=None):
        self.items.put(item)
        _, verdict = next(self.verdicts)
        if verdict.topic == "duplicate":
            raise DropItem(f"repeats {verdict.original.id}")
        return item

    def close_spider(self, spider=None):
        self.items.put(None)
        list(self.verdicts)  # waits for the end of the program: the next crawl knows these articles
