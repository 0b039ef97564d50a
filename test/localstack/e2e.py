"""Deploys Landfall to LocalStack, lets its own schedules land rows, deploys a change in mid-flight, and destroys it.

e2e.sh prepares everything and runs this. Nothing here starts a function: all that happens to a row after it was put
happens because EventBridge rules fire.
"""

import argparse
import collections
import json
import signal
import sys
import time
import zlib
from pathlib import Path

from account import CDK, LocalStack, until
from remote import Remote, payload

BEGIN = time.monotonic()
FIRST = """\
defaults: {{send_timeout: 5s, late_arrival: 1s}}
log_successes: 1
destinations:
  charge: {{http: {url}/charge, deduplicates: 24h, allow_private: true}}
  mail:
    http: {url}/mail
    deduplicates: never
    allow_private: true
    lookup:
      http: {url}/mail/{{idempotency_key}}
      rules:
        - {{status: 200, pointer: /state, equals: sent, then: completed}}
        - {{status: 404, then: not_found}}
  slow: {{http: {url}/slow, deduplicates: never, send_timeout: 110s, allow_private: true}}
"""
SECOND = "  added: {{http: {url}/added, deduplicates: never, shards: 3, allow_private: true}}\n"
ROWS = {
    # Destination and beginning of the key: how many rows, and how each must end.
    ("charge", "plain"): (20, "completed"),
    ("charge", "busy"): (3, "completed"),
    ("charge", "cut-after"): (3, "completed"),  # repeated, because the remote recognises the key
    ("charge", "refused"): (2, "failed"),
    ("mail", "plain"): (20, "completed"),
    ("mail", "cut-after"): (3, "completed"),  # unknown, until the remote says that it was sent
    ("mail", "cut-before"): (3, "completed"),  # unknown, until the remote says that it never arrived
}
LATER = {("charge", "later"): (10, "completed"), ("added", "later"): (10, "completed")}


def say(text: str) -> None:
    print(f"{time.monotonic() - BEGIN:6.1f} s  {text}", flush=True)


class Test:
    def __init__(self, folder: Path, architecture: str) -> None:
        self.folder, self.failed, self.passed = folder, 0, 0
        self.remote = Remote()
        self.config = folder / "landfall.yaml"
        self.config.write_text(FIRST.format(url=self.remote.url))
        self.account = LocalStack(folder)
        self.cdk = CDK(self.account, folder, {
            "architecture": architecture, "config": str(self.config), "dist": str(folder / "dist"), "stage": "dev",
        })
        self.put: list[tuple[str, str, str]] = []  # destination, key, how it must end
        self.table = ""

    def check(self, what: str, holds: bool, detail: object = "") -> None:
        if holds:
            self.passed += 1
            return
        self.failed += 1
        say(f"WRONG: {what} {detail}")

    def run(self) -> None:
        self.cdk.bootstrap()
        before = self.account.inventory()
        say("bootstrapped")
        outputs = self.cdk.deploy()
        self.table = outputs["LandfallOutboxTable"]
        say(f"deployed: {', '.join(sorted(outputs))}")
        self.check_table()
        self.put_all(ROWS)
        self.put_row("slow", "hold-1", "completed", by_command_line=False)
        say(f"{len(self.put)} rows put; waiting for the rules to fire")
        self.deploy_in_mid_flight()
        self.check_diff()
        self.wait_until_all_ended()
        self.check_rows()
        self.check_logs(outputs)
        self.destroy(before)

    def put_all(self, rows: dict) -> None:
        for (destination, kind), (count, end) in rows.items():
            for i in range(count):
                # The command line is the Go client: every other kind of writer is like boto3.
                self.put_row(destination, f"{kind}-{i}", end, by_command_line=destination == "mail" and i % 5 == 0)

    def put_row(self, destination: str, key: str, end: str, by_command_line: bool) -> None:
        body = json.dumps(payload(destination, key))
        if by_command_line:
            self.account.run(
                "build/landfall", "enqueue", destination, "--key", key, "--data", body, "--config", str(self.config), "--stack", "landfall-dev"
            )
        else:
            pk, now = f"{destination}#{key}", str(time.time_ns() // 1_000_000)
            lane = zlib.crc32(pk.encode()) % (3 if destination == "added" else 1)
            self.account.client("dynamodb").put_item(
                TableName=self.table, ConditionExpression="attribute_not_exists(pk)",
                Item={"pk": {"S": pk}, "status": {"S": "pending"}, "lane": {"S": f"due#{destination}#{lane}"},
                      "lane_at": {"N": now}, "created_at": {"N": now}, "payload": {"S": body}},
            )
        self.put.append((destination, key, end))

    def deploy_in_mid_flight(self) -> None:
        """While a request is in flight that is not answered before the deployment is over."""
        until("a rule fires", 150, self.remote.held.is_set)
        say("the dispatch function's rule has fired; deploying a change while a row is in flight")
        self.config.write_text((FIRST + SECOND).format(url=self.remote.url))
        self.cdk.deploy()
        self.check("the row is in flight still", self.row("slow", "hold-1")["status"] == "dispatching")
        self.remote.release.set()
        say("deployed again")
        self.put_all(LATER)

    def row(self, destination: str, key: str) -> dict:
        item = self.account.client("dynamodb").get_item(TableName=self.table, Key={"pk": {"S": f"{destination}#{key}"}}, ConsistentRead=True)
        return {name: next(iter(value.values())) for name, value in item.get("Item", {}).items()}

    def rows(self) -> list[dict]:
        pages = self.account.client("dynamodb").get_paginator("scan").paginate(TableName=self.table, ConsistentRead=True)
        return [{name: next(iter(value.values())) for name, value in item.items()} for page in pages for item in page["Items"]]

    def wait_until_all_ended(self) -> None:
        shown = {}

        def ended() -> bool:
            nonlocal shown
            count = collections.Counter(row["status"] for row in self.rows())
            if count != shown:
                say("rows: " + ", ".join(f"{n} {status}" for status, n in sorted(count.items())))
                shown = count
            return count["completed"] + count["failed"] == len(self.put)

        until("every row ends", 300, ended)

    def check_table(self) -> None:
        dynamodb = self.account.client("dynamodb")
        described = dynamodb.describe_table(TableName=self.table)["Table"]
        self.check("the index is there", [i["IndexName"] for i in described["GlobalSecondaryIndexes"]] == ["lane-index"])
        self.check("the stream has new images", described["StreamSpecification"]["StreamViewType"] == "NEW_IMAGE")
        ttl = dynamodb.describe_time_to_live(TableName=self.table)["TimeToLiveDescription"]
        self.check("rows expire", ttl.get("AttributeName") == "expires_at", ttl)

    def check_rows(self) -> None:
        remote, duplicates, lost, failed_with_effect = self.remote, 0, 0, 0
        for destination, key, end in self.put:
            row, effects = self.row(destination, key), remote.effects[destination, key]
            duplicates += max(0, effects - 1)
            lost += row["status"] == "completed" and effects == 0
            failed_with_effect += row["status"] == "failed" and effects > 0
            self.check(f"{destination} {key} ends {end}", row["status"] == end, row["status"])
            sent = 2 if key.startswith(("busy", "cut-before")) or (destination, key[:9]) == ("charge", "cut-after") else 1
            self.check(f"{destination} {key} was sent {sent} times", remote.requests[destination, key] == sent, remote.requests[destination, key])
            asked = destination == "mail" and key.startswith("cut")
            self.check(f"{destination} {key}: the remote was asked: {asked}", (remote.lookups[destination, key] > 0) == asked)
            self.check(f"{destination} {key} will be deleted", float(row.get("expires_at", 0)) > time.time())
        self.check("no duplicates", duplicates == 0, duplicates)
        self.check("nothing lost", lost == 0, lost)
        self.check("nothing failed that had an effect", failed_with_effect == 0, failed_with_effect)
        self.check("the remote got what was put", not remote.wrong, remote.wrong)
        self.figures = {
            "rows": len(self.put), "effects": sum(remote.effects.values()), "duplicates": duplicates, "lost": lost,
            "failed_with_effect": failed_with_effect, "lookups": sum(remote.lookups.values()),
        }

    def check_logs(self, outputs: dict[str, str]) -> None:
        """The rows were claimed by invocations of the deployed function, and its logs hold no secrets."""
        texts = {name: (self.account.functions / (outputs["LandfallFunction" + name] + ".log")).read_text() for name in ("Dispatch", "Reconcile")}
        for row in self.rows():
            self.check(f"{row['pk']} was claimed by an invocation that was logged", f"RequestId: {row['claimed_by']}" in texts["Dispatch"])
        for name, text in texts.items():
            self.check(f"{name} writes metrics", '"_aws":{"CloudWatchMetrics"' in text)
            secrets = [word for word in ("do-not-log", "plain-1", "cut-after-1", "hold-1") if word in text]
            self.check(f"{name} logs neither payloads nor keys", not secrets, secrets)

    def check_diff(self) -> None:
        diff = self.cdk("diff", "--fail", "--no-notices", check=False)
        self.check("cdk diff is clean", diff.returncode == 0, diff.stdout + diff.stderr)
        say("cdk diff is clean" if diff.returncode == 0 else "cdk diff is not clean")

    def destroy(self, before: set[str]) -> None:
        self.cdk("destroy", "--force")
        left = self.account.inventory() - before
        self.check("destroying leaves nothing", not left, sorted(left))
        say("destroyed")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--architecture", required=True)
    arguments.add_argument("--build", required=True, type=Path)
    options = arguments.parse_args()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # so that what was started ends, too
    test = Test(options.build.resolve(), options.architecture)
    try:
        test.run()
    finally:
        test.account.stop()
        test.remote.close()
    figures = test.figures | {"seconds": round(time.monotonic() - BEGIN, 1)}
    (options.build / "e2e.json").write_text(json.dumps(figures, indent=2) + "\n")
    print(", ".join(f"{name.replace('_', ' ')} {value}" for name, value in figures.items()))
    print(f"{test.passed} passed, {test.failed} failed")
    raise SystemExit(1 if test.failed else 0)


if __name__ == "__main__":
    main()
