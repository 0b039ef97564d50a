"""Deploys Landfall to LocalStack, puts rows and messages, deploys a change in mid-flight, and destroys the stack.

e2e.sh prepares everything and runs this. Only the stack's own event source mappings and EventBridge rules start the
functions.
"""

import argparse
import collections
import json
import signal
import sys
import time
from pathlib import Path

import scenario
from account import CDK, LocalStack, until
from check import BEGIN, Checks, say
from outbox import Outbox
from remote import Remote
from routed import Consumer, Routed

STACK = "landfall-dev"


class Test:
    def __init__(self, folder: Path, architecture: str) -> None:
        self.folder, self.check, self.seconds = folder, Checks(), {}
        self.remote = Remote({"charge": "Bearer " + scenario.SECRET})
        self.config = folder / "landfall.yaml"
        self.config.write_text(scenario.first(self.remote.url))
        self.consumers: list[Consumer] = []
        self.account = LocalStack(folder)
        self.cdk = CDK(self.account, {
            "architecture": architecture, "config": str(self.config), "dist": str(folder / "dist"),
            "owned_queues": "true", "stack": STACK, "stage": "dev",
        })
        self.timed("start")

    def run(self) -> None:
        before = self.prepare()
        outputs = self.deploy()
        self.check.table(self.account.client("dynamodb"), outputs["LandfallOutboxTable"])
        self.outbox = Outbox(self.account, outputs["LandfallOutboxTable"], STACK, self.config, scenario.SHARDS)
        self.routed = Routed(self.account, outputs)
        self.north = self.consumer("e2e-couriers-north")
        self.put_first()
        self.deploy_in_mid_flight()
        self.aide = self.consumer("e2e-night-aide")
        self.put_all(scenario.MORE)
        self.check.diff(self.cdk("diff", "--fail", check=False))
        self.wait_until_all_ended()
        self.timed("land")
        self.check_all(outputs)
        self.timed("check")
        self.cdk("destroy", "--force", app=self.cdk.assembly)
        self.check.nothing_left(self.account.inventory() - before)
        self.timed("destroy")

    def prepare(self) -> set[str]:
        """Makes the secret and the queue that the stack refers to. Returns everything that exists before the stack."""
        self.cdk.bootstrap()
        self.account.client("secretsmanager").create_secret(Name=scenario.SECRET_NAME, SecretString=scenario.SECRET)
        self.account.client("sqs").create_queue(QueueName=scenario.NOTICES)
        self.timed("bootstrap")
        return self.account.inventory()

    def deploy(self) -> dict[str, str]:
        outputs = self.cdk.deploy()
        self.timed("deploy")
        say(f"deployed: {', '.join(sorted(outputs))}")
        return outputs

    def consumer(self, queue: str) -> Consumer:
        made = Consumer(self.account, self.folder, queue, self.routed.table, self.routed.prefix)
        self.consumers.append(made)
        return made

    def put_first(self) -> None:
        self.put_all(scenario.ROWS)
        self.put_all(scenario.LATER, later=scenario.LATER_BY)
        self.direct = {self.routed.send("couriers", {"direct": i}): {"direct": i} for i in range(3)}
        say(f"{len(self.outbox.put)} rows and {len(self.direct)} messages put")

    def put_all(self, rows: dict, later: float = 0) -> None:
        for (destination, kind), (count, end) in rows.items():
            for i in range(count):
                # The command line uses the Go client. boto3 stands for every other writer.
                if kind == "plain" and i == 0:
                    self.outbox.put_by_command_line(destination, f"{kind}-{i}", end)
                else:
                    self.outbox.put_by_boto3(destination, f"{kind}-{i}", end, later)

    def deploy_in_mid_flight(self) -> None:
        """Deploys while a request waits for its answer, and while messages wait for a consumer."""
        until("messages without a consumer come back", 150, lambda: self.times_back() >= 1)
        self.outbox.put_by_boto3("slow", "hold-1", "completed")
        until("the held row is sent", 150, self.remote.held.is_set)
        say("a row is in flight, and messages wait for a consumer; deploying a change")
        self.timed("first")
        self.config.write_text(scenario.second(self.remote.url))
        self.check.same("messages without a consumer are pending", self.routed.states("night"), {"pending": 3})
        self.check.same("they stay in their queue", sum(self.routed.counts(self.routed.ingress("night"))), 3)
        self.check.same("landfall doctor reports what is not deployed", self.troubles(), ["consumer aide of group night", "deployment"])
        self.cdk.deploy()
        self.check.same("the row is still in flight", self.outbox.row("slow", "hold-1")["status"], "dispatching")
        self.remote.release.set()
        self.timed("deploy_again")
        say("deployed again")
        self.check.same("landfall doctor finds nothing", self.troubles(), [])

    def troubles(self) -> list[str]:
        """The subjects in which the deployed stack differs from the configuration, by `landfall doctor`."""
        found = self.account.landfall("doctor", "--config", str(self.config), "--stack", STACK, "--output", "json", check=False)
        return [each["subject"] for each in json.loads(found) if each["level"] in ("bad", "warn") and each["subject"] != "tools"]

    def times_back(self) -> int:
        """The smallest number of times that a message of group night came back to the router."""
        back = [int(r.get("extensions", 0)) for r in self.routed.receipts("night").values()]
        return min(back) if len(back) == 3 else 0

    def wait_until_all_ended(self) -> None:
        shown = None
        want = {"couriers": {"accepted": 15 + len(self.direct)}, "night": {"accepted": 3}, "nobody": {"dead": 2}}

        def ended() -> bool:
            nonlocal shown
            rows = collections.Counter(row["status"] for row in self.outbox.rows())
            messages = {group: dict(self.routed.states(group)) for group in want}
            if (rows, messages) != shown:
                say(f"rows {dict(sorted(rows.items()))}, messages {messages}")
                shown = rows, messages
            left = [count for group in want for count in self.routed.counts(self.routed.ingress(group))]
            return rows["completed"] + rows["failed"] == len(self.outbox.put) and messages == want and not any(left)

        until("every row and every message ends", 400, ended)

    def check_all(self, outputs: dict[str, str]) -> None:
        groups, put = ("couriers", "night", "nobody"), self.outbox.put
        tokens = [receipt["token"] for group in groups for receipt in self.routed.receipts(group).values()]
        self.check.logs(self.account, outputs, self.outbox.rows(), tokens)
        self.check.notices(self.routed.receive_all(scenario.NOTICES), put)
        self.check.rows(self.outbox, self.remote)
        self.check.couriers(self.routed, put, self.direct, self.north.worked())
        self.check.night(self.routed, put, self.aide.worked())
        self.check.nobody(self.routed, put, self.routed.receive_all(self.routed.dead("nobody")))
        late = {f"e2e-{group}-dozing": self.consumer(f"e2e-{group}-dozing") for group in groups}
        for queue, consumer in late.items():
            until(f"{queue} has no stale messages", 60, lambda: not any(self.routed.counts(queue)))
            self.check.same(f"a late consumer of {queue} works nothing", consumer.worked(), [])

    def timed(self, what: str) -> None:
        """Records the seconds since the last call."""
        now = time.monotonic() - BEGIN
        self.seconds[what] = round(now - sum(self.seconds.values()), 1)

    def close(self) -> None:
        for each in self.consumers:
            each.stop()
        self.account.stop()
        self.remote.close()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--architecture", required=True)
    arguments.add_argument("--build", required=True, type=Path)
    options = arguments.parse_args()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # so that child processes end, too
    test = Test(options.build.resolve(), options.architecture)
    try:
        test.run()
    finally:
        test.close()
    figures = test.check.figures | {"passed": test.check.passed, "failed": test.check.failed, "seconds": test.seconds}
    (options.build / "e2e.json").write_text(json.dumps(figures, indent=2) + "\n")
    print(", ".join(f"{name.replace('_', ' ')} {value}" for name, value in test.check.figures.items()))
    print(", ".join(f"{name.replace('_', ' ')} {value} s" for name, value in test.seconds.items()))
    print(f"{test.check.passed} passed, {test.check.failed} failed, {time.monotonic() - BEGIN:.0f} s")
    raise SystemExit(1 if test.check.failed else 0)


if __name__ == "__main__":
    main()
