"""What must hold. Each method checks one part of the stack."""

import collections
import json
import subprocess
import time

import scenario
from account import LocalStack
from outbox import Outbox, Put
from remote import Remote, payload
from routed import Routed, message_id

BEGIN = time.monotonic()


def say(text: str) -> None:
    print(f"{time.monotonic() - BEGIN:6.1f} s  {text}", flush=True)


class Checks:
    def __init__(self) -> None:
        self.passed, self.failed, self.figures = 0, 0, {}

    def __call__(self, what: str, holds: bool, detail: object = "") -> None:
        if holds:
            self.passed += 1
            return
        self.failed += 1
        say(f"WRONG: {what} {detail}")

    def same(self, what: str, got: object, want: object) -> None:
        self(what, got == want, f"{got}, want {want}")

    def table(self, dynamodb, name: str) -> None:
        described = dynamodb.describe_table(TableName=name)["Table"]
        self("the index exists", [i["IndexName"] for i in described["GlobalSecondaryIndexes"]] == ["lane-index"])
        self("the stream has new images", described["StreamSpecification"]["StreamViewType"] == "NEW_IMAGE")
        ttl = dynamodb.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
        self("rows expire", ttl.get("AttributeName") == "expires_at", ttl)

    def rows(self, outbox: Outbox, remote: Remote) -> None:
        """Every row ends as it must, and the remotes' records agree with it."""
        duplicates = lost = failed_with_effect = 0
        for put in outbox.put:
            key, at = (put.destination, put.key), outbox.row(put.destination, put.key)
            self(f"{put.pk} ends {put.end}", at["status"] == put.end, at["status"])
            self(f"{put.pk} will be deleted", float(at.get("expires_at", 0)) > time.time())
            if put.destination not in ("charge", "mail", "slow", "added"):
                continue  # it went to a queue
            duplicates += max(0, remote.effects[key] - 1)
            lost += at["status"] == "completed" and remote.effects[key] == 0
            failed_with_effect += at["status"] == "failed" and remote.effects[key] > 0
            sent = 2 if put.key.startswith(("busy", "cut-before")) or (put.destination, put.key[:9]) == ("charge", "cut-after") else 1
            self(f"{put.pk} was sent {sent} times", remote.requests[key] == sent, remote.requests[key])
            asked = put.destination == "mail" and put.key.startswith("cut")
            self(f"{put.pk}: the remote was asked: {asked}", (remote.lookups[key] > 0) == asked)
        self("no duplicates", duplicates == 0, duplicates)
        self("nothing lost", lost == 0, lost)
        self("no failed row had an effect", failed_with_effect == 0, failed_with_effect)
        self("the remote got each payload and its secret", not remote.wrong, remote.wrong)
        self.figures |= {
            "rows": len(outbox.put), "effects": sum(remote.effects.values()), "duplicates": duplicates, "lost": lost,
            "failed_with_effect": failed_with_effect, "lookups": sum(remote.lookups.values()),
        }

    def notices(self, received: list[dict], put: list[Put]) -> None:
        self("the queue of notices has each row once", sorted(m["Body"] for m in received) == bodies(put, "notices"))

    def couriers(self, routed: Routed, put: list[Put], direct: dict[str, dict], worked: list[dict]) -> None:
        """Rows and directly sent messages reach north, some of them after the consumer that dozes."""
        receipts, rows = routed.receipts("couriers"), [p for p in put if p.destination == "jobs"]
        self("each message has a receipt", receipts.keys() == {message_id(p.pk) for p in rows} | direct.keys())
        self.granted(receipts, "north", worked, [payload(p.destination, p.key) for p in rows] + list(direct.values()))
        past = [end["end"] for r in receipts.values() for end in r.get("history", [])]
        self("some messages lapsed and were rerouted", "lapsed" in past and set(past) == {"lapsed"}, past)
        more = [receipts[message_id(p.pk)]["attempt"] for p in rows if p.key.startswith("more-")]
        self.same("the second deployment's route picks the consumer that works", more, [1] * len(more))
        self("no message was given up", routed.counts(routed.dead("couriers")) == (0, 0))
        self.figures |= {"messages": len(receipts), "rerouted": len(past)}

    def night(self, routed: Routed, put: list[Put], worked: list[dict]) -> None:
        """Messages whose only consumer dozes go to the consumer that the second deployment adds."""
        receipts, rows = routed.receipts("night"), [p for p in put if p.destination == "shifts"]
        self("each message at night has a receipt", receipts.keys() == {message_id(p.pk) for p in rows})
        self("the waiting messages moved to another consumer", {r["attempt"] for r in receipts.values()} == {2}, receipts)
        self.granted(receipts, "aide", worked, [payload(p.destination, p.key) for p in rows])
        self("no message of group night was given up", routed.counts(routed.dead("night")) == (0, 0))

    def granted(self, receipts: dict[str, dict], to: str, worked: list[dict], want: list[dict]) -> None:
        for key, r in receipts.items():
            self(f"message {key} was accepted by {to}", (r["state"], r["consumer"]) == ("accepted", to), (r["state"], r["consumer"]))
            had = [past["consumer"] for past in r.get("history", [])] + [r["consumer"]]
            self(f"no consumer got message {key} twice", len(set(had)) == len(had) == r["attempt"], had)
        self(f"{to} worked each message once", in_order(worked) == in_order(want), worked)

    def nobody(self, routed: Routed, put: list[Put], letters: list[dict]) -> None:
        """A message without a consumer becomes a dead letter with reason, body and receipt."""
        receipts = routed.receipts("nobody")
        self("each receipt is dead", {r["state"] for r in receipts.values()} == {"dead"}, receipts)
        reasons = {}
        for letter in letters:  # the same may be there twice
            why = json.loads(letter["MessageAttributes"]["landfall"]["StringValue"])
            reasons[why["message_id"]] = why["group"], why["reason"], letter["Body"]
        rows = [p for p in put if p.destination == "orphans"]
        want = {message_id(p.pk): ("nobody", "max_wait", json.dumps(payload(p.destination, p.key))) for p in rows}
        self("each message has a dead letter with its reason", reasons == want, reasons)
        self.figures |= {"dead_letters": len(reasons)}

    def logs(self, account: LocalStack, outputs: dict[str, str], rows: list[dict], tokens: list[str]) -> None:
        """Invocations of the deployed functions claimed the rows, and no log holds a secret."""
        texts = {name: account.function_log(outputs["LandfallFunction" + name]) for name in ("Dispatch", "Reconcile", "Route", "Stream")}
        claims = collections.Counter()
        for row in rows:
            by = [name for name in ("Stream", "Dispatch") if f'"requestId":"{row["claimed_by"]}"' in texts[name]]
            claims += collections.Counter(by)
            self(f"{row['pk']} was claimed by a logged invocation", len(by) == 1, by)
            if "#later-" in row["pk"]:
                self(f"{row['pk']} was left to the sweep", by == ["Dispatch"], by)
        self("the fast path sent rows", claims["Stream"] > 0, claims)
        for name, text in texts.items():
            self(f"{name} writes metrics", '"_aws":{"CloudWatchMetrics"' in text)
            secrets = [word for word in ("do-not-log", "plain-1", "cut-after-1", "hold-1", scenario.SECRET, *tokens) if word in text]
            self(f"{name} logs neither payloads nor keys nor secrets", not secrets, secrets)
        self.figures |= {"claimed_by_fast_path": claims["Stream"], "claimed_by_sweep": claims["Dispatch"]}

    def diff(self, done: subprocess.CompletedProcess[str]) -> None:
        self("cdk diff is clean", done.returncode == 0, done.stdout + done.stderr)
        say("cdk diff is clean" if done.returncode == 0 else "cdk diff is not clean")

    def nothing_left(self, left: set[str]) -> None:
        self("destroying leaves nothing", not left, sorted(left))
        say("destroyed")


def bodies(put: list[Put], destination: str) -> list[str]:
    return sorted(json.dumps(payload(p.destination, p.key)) for p in put if p.destination == destination)


def in_order(documents: list[dict]) -> list[str]:
    return sorted(json.dumps(each, sort_keys=True) for each in documents)
