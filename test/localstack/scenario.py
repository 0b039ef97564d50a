"""The two configurations that are deployed, and the rows that are put.

There are three groups:
- `couriers`: the route picks a consumer that dozes first, and north accepts what lapses. The second deployment picks the
  least loaded consumer, which is north by then.
- `night`: its only consumer dozes, until the second deployment adds an aide.
- `nobody`: its only consumer dozes.
"""

from string import Template

SECRET = "e2e-bearer-of-charges"  # in Secrets Manager
SECRET_NAME = "e2e/charge"
NOTICES = "e2e-notices"  # a queue outside the stack

_DEPLOYED = Template("""\
defaults: {send_timeout: 5s, late_arrival: 1s}
log_successes: 1
groups:
  couriers:
    accept: explicit
    accept_timeout: 15s # long: north must not be late on a busy machine, because it is the last consumer
    route: $route
    consumers: {dozing: {sqs: e2e-couriers-dozing}, north: {sqs: e2e-couriers-north}}
  night:
    accept: explicit
    accept_timeout: 4s
    route: least_loaded
    consumers: {dozing: {sqs: e2e-night-dozing}$aide}
  nobody:
    accept: explicit
    accept_timeout: 2s
    max_wait: 20s
    route: least_loaded
    consumers: {dozing: {sqs: e2e-nobody-dozing}}
destinations:
  jobs: {group: couriers}
  shifts: {group: night}
  orphans: {group: nobody}
  notices: {sqs: $notices, deduplicates: never}
  charge: {http: $url/charge, deduplicates: 24h, secret: $secret, allow_private: true}
  mail:
    http: $url/mail
    deduplicates: never
    allow_private: true
    lookup:
      http: $url/mail/{idempotency_key}
      rules:
        - {status: 200, pointer: /state, equals: sent, then: completed}
        - {status: 404, then: not_found}
  slow: {http: $url/slow, deduplicates: never, send_timeout: 5m, allow_private: true}
$added""")
SHARDS = {"added": 3}


def first(url: str) -> str:
    return _DEPLOYED.substitute(url=url, notices=NOTICES, secret=SECRET_NAME, route="first_with_capacity", aide="", added="")


def second(url: str) -> str:
    added = f"  added: {{http: {url}/added, deduplicates: never, shards: {SHARDS['added']}, allow_private: true}}\n"
    return _DEPLOYED.substitute(
        url=url, notices=NOTICES, secret=SECRET_NAME, route="least_loaded", aide=", aide: {sqs: e2e-night-aide}", added=added
    )


# By destination and beginning of the key: the number of rows, and how each must end.
ROWS = {
    ("charge", "plain"): (10, "completed"),
    ("charge", "busy"): (3, "completed"),
    ("charge", "cut-after"): (3, "completed"),  # repeated, because the remote recognises the key
    ("charge", "refused"): (2, "failed"),
    ("mail", "plain"): (10, "completed"),
    ("mail", "cut-after"): (3, "completed"),  # unknown until the remote says that it arrived
    ("mail", "cut-before"): (3, "completed"),  # unknown until the remote says that it never arrived
    ("notices", "plain"): (3, "completed"),
    ("jobs", "plain"): (10, "completed"),
    ("shifts", "plain"): (3, "completed"),
    ("orphans", "plain"): (2, "completed"),
}
# After the second deployment.
MORE = {
    ("charge", "more"): (5, "completed"),
    ("added", "more"): (6, "completed"),
    ("jobs", "more"): (5, "completed"),
}
# Rows that fall due after the fast path has seen them, so the sweep sends them; and the seconds until they are due.
LATER = {("charge", "later"): (5, "completed")}
LATER_BY = 15.0
