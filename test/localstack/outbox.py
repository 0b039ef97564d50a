"""The outbox table from outside: puts rows as any writer does, and reads how they end."""

import json
import time
import zlib
from dataclasses import dataclass
from pathlib import Path

from boto3.dynamodb.types import TypeDeserializer

from account import LocalStack
from remote import payload

HEAD_START = 5.0  # seconds for which the sweep leaves a row to the fast path


@dataclass(frozen=True)
class Put:
    """A row that was put, and how it must end. Its key begins with the behaviour of its remote."""

    destination: str
    key: str
    end: str

    @property
    def pk(self) -> str:
        return f"{self.destination}#{self.key}"


class Outbox:
    def __init__(self, account: LocalStack, table: str, stack: str, config: Path, shards: dict[str, int]) -> None:
        self._account, self._table, self._stack, self._config, self._shards = account, table, stack, config, shards
        self._dynamodb = account.client("dynamodb")
        self.put: list[Put] = []

    def put_by_boto3(self, destination: str, key: str, end: str, later: float = 0) -> None:
        """Puts the six attributes of docs/row-format.md; the row is due `later` seconds from now."""
        row, now = Put(destination, key, end), time.time()
        lane = zlib.crc32(row.pk.encode()) % self._shards.get(destination, 1)
        self._dynamodb.put_item(
            TableName=self._table, ConditionExpression="attribute_not_exists(pk)",
            Item={"pk": {"S": row.pk}, "status": {"S": "pending"}, "lane": {"S": f"due#{destination}#{lane}"},
                  "lane_at": {"N": millis(now + HEAD_START + later)}, "created_at": {"N": millis(now)},
                  "payload": {"S": json.dumps(payload(destination, key))}},
        )
        self.put.append(row)

    def put_by_command_line(self, destination: str, key: str, end: str) -> None:
        """Puts a row with the Go client, which finds the table by the stack's outputs."""
        self._account.landfall(
            "enqueue", destination, "--key", key, "--data", json.dumps(payload(destination, key)),
            "--config", str(self._config), "--stack", self._stack,
        )
        self.put.append(Put(destination, key, end))

    def row(self, destination: str, key: str) -> dict:
        item = self._dynamodb.get_item(TableName=self._table, Key={"pk": {"S": f"{destination}#{key}"}}, ConsistentRead=True)
        return plain(item.get("Item", {}))

    def rows(self) -> list[dict]:
        return scan(self._dynamodb, self._table)


def scan(dynamodb, table: str) -> list[dict]:
    pages = dynamodb.get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
    return [plain(item) for page in pages for item in page["Items"]]


def plain(item: dict) -> dict:
    return {name: TypeDeserializer().deserialize(value) for name, value in item.items()}


def millis(seconds: float) -> str:
    return str(int(seconds * 1000))
