"""Puts rows of every form into Landfall's outbox with boto3 alone, and prints how each must end.

docs/row-format.md has the format. LANDFALL_OUTBOX_TABLE, AWS_ENDPOINT_URL and the usual variables of AWS name the table.
Each line of output is a row: its key, the bytes to send in base64, and how it ends.
"""

import base64
import gzip
import json
import os
import time
import zlib

import boto3

TABLE = os.environ.get("LANDFALL_OUTBOX_TABLE", "landfall-outbox")
SHARDS = 4  # of the destination "charge"

client = boto3.client("dynamodb")


def row(key, payload, destination="charge", /, **more):
    """A row with the required attributes, and more."""
    pk = f"{destination}#{key}"
    now = str(time.time_ns() // 1_000_000)
    attributes = {
        "pk": {"S": pk},
        "status": {"S": "pending"},
        "lane": {"S": f"due#{destination}#{zlib.crc32(pk.encode()) % SHARDS}"},
        "lane_at": {"N": now},
        "created_at": {"N": now},
        "payload": {"S": payload} if isinstance(payload, str) else {"B": payload},
    }
    attributes.update(more)
    return attributes


def put(item):
    return {"TableName": TABLE, "Item": item, "ConditionExpression": "attribute_not_exists(pk)"}


def announce(item, sent, ends):
    content = sent.encode() if isinstance(sent, str) else sent
    print(json.dumps({"pk": item["pk"]["S"], "sent": base64.b64encode(content).decode(), "ends": ends}))


def good_rows():
    every_byte = bytes(range(256))
    text = json.dumps({"amount": 1200, "note": "größe \u2028 \U0001f6ec"}, ensure_ascii=False)
    yield row("text", text), text
    yield row("nothing", ""), ""
    yield row("bytes", every_byte), every_byte
    yield row("large", "x" * 380_000), "x" * 380_000
    yield row("gzip", gzip.compress(every_byte * 1000), payload_encoding={"S": "gzip"}), every_byte * 1000
    yield row("key#with#separators", "{}"), "{}"
    yield row(
        "everything",
        "{}",
        content_type={"S": "application/vnd.example+json"},
        headers={"M": {"X-Tenant": {"S": "t1"}}},
        deliver_by={"N": str(int(time.time() * 1000) + 3_600_000)},
        command_id={"S": "command-7"},
        trace={"S": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
        mine={"SS": ["what", "Landfall", "does", "not", "know"]},
    ), "{}"
    yield row(
        "place-holders",
        "{}",
        attempt_count={"N": "0"},
        token={"S": "-" * 22},
        claimed_by={"S": "-" * 53},
        claimed_at={"N": "1111111111111"},
        until={"N": "1111111111111"},
        window={"N": "111111111"},
    ), "{}"


def broken_rows():
    yield row("payload-number", "", payload={"N": "1"})
    yield row("payload-json", "", payload={"M": {"amount": {"N": "1200"}}})
    yield row("no-gzip", b"plain", payload_encoding={"S": "gzip"})
    yield row("attempts-text", "{}", attempt_count={"S": "0"})
    yield row("created-text", "{}", created_at={"S": "2026-11-29T18:00:00Z"})
    yield row("created-fraction", "{}", created_at={"N": str(time.time())})
    yield row("status-unknown", "{}", status={"S": "PENDING"})
    yield row("expires", "{}", expires_at={"N": str(int(time.time()) + 3600)})


def main():
    for item, sent in good_rows():
        client.put_item(**put(item))
        announce(item, sent, "completed")
    for item in broken_rows():
        client.put_item(**put(item))
        announce(item, "", "failed")

    in_transaction = row("transaction", "{}")
    order = {"TableName": "orders", "Item": {"id": {"S": "42"}}, "ConditionExpression": "attribute_not_exists(id)"}
    client.transact_write_items(TransactItems=[{"Put": order}, {"Put": put(in_transaction)}])
    announce(in_transaction, "{}", "completed")

    try:
        client.put_item(**put(row("text", "another text")))
    except client.exceptions.ConditionalCheckFailedException:
        return
    raise SystemExit("the same key was put twice")


main()
