"""Groups from outside: consumers, receipts and queues."""

import collections
import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

from account import LocalStack, inherited
from outbox import scan

PAGE = Path(__file__).parents[2] / "docs" / "routing.md"


class Consumer:
    """The program of docs/routing.md, word for word, on one queue."""

    def __init__(self, account: LocalStack, folder: Path, queue: str, receipts: str, prefix: str) -> None:
        program, self._out = folder / "consumer.py", folder / f"consumer-{queue}.out"
        program.write_text(re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[1])
        environment = {"QUEUE_URL": account.queue(queue), "LANDFALL_RECEIPTS_TABLE": receipts, "LANDFALL_QUEUE_PREFIX": prefix}
        with self._out.open("wb") as out, (folder / f"consumer-{queue}.err").open("wb") as err:
            self._process = subprocess.Popen(
                [sys.executable, str(program)], env=inherited() | account.environment | environment,
                stdin=subprocess.DEVNULL, stdout=out, stderr=err,
            )

    def worked(self) -> list[dict]:
        """The bodies that it worked, in order, without a line that is still being written."""
        whole = self._out.read_text().rpartition("\n")[0].splitlines()
        return [json.loads(line.removeprefix("worked ")) for line in whole]

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()


class Routed:
    def __init__(self, account: LocalStack, outputs: dict[str, str]) -> None:
        self._account, self._dynamodb, self._sqs = account, account.client("dynamodb"), account.client("sqs")
        self.table, self.prefix = outputs["LandfallReceiptsTable"], outputs["LandfallQueuePrefix"]

    def ingress(self, group: str) -> str:
        return f"{self.prefix}-ingress-{group}"

    def dead(self, group: str) -> str:
        return f"{self.prefix}-dead-{group}"

    def receipts(self, group: str) -> dict[str, dict]:
        """The receipts of a group, by message id."""
        return {key: r for r in scan(self._dynamodb, self.table) for of, _, key in [r["pk"].partition("#")] if of == group}

    def states(self, group: str) -> collections.Counter[str]:
        return collections.Counter(receipt["state"] for receipt in self.receipts(group).values())

    def counts(self, queue: str) -> tuple[int, int]:
        """The numbers of visible and of hidden messages in a queue."""
        got = self._sqs.get_queue_attributes(QueueUrl=self._account.queue(queue), AttributeNames=["All"])["Attributes"]
        return int(got["ApproximateNumberOfMessages"]), int(got["ApproximateNumberOfMessagesNotVisible"])

    def send(self, group: str, body: dict) -> str:
        """Sends a message to the group's ingress queue. Returns the message's id."""
        return self._sqs.send_message(QueueUrl=self._account.queue(self.ingress(group)), MessageBody=json.dumps(body))["MessageId"]

    def receive_all(self, queue: str) -> list[dict]:
        """Empties a queue without hidden messages."""
        url, found = self._account.queue(queue), []
        while messages := self._sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"]).get("Messages"):
            for message in messages:
                self._sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
            found += messages
        return found


def message_id(pk: str) -> str:
    """The id of the message that an outbox row becomes."""
    return hashlib.sha256(pk.encode()).hexdigest()
