"""LocalStack as a process, the CDK's command line for it, and the resources in its account."""

import contextlib
import functools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import boto3

REGION = "eu-central-1"
ACCOUNT = "000000000000"
T = TypeVar("T")


def until(what: str, seconds: float, condition: Callable[[], T]) -> T:
    """Evaluates the condition until it is true, for the given seconds at most."""
    end = time.monotonic() + seconds
    while True:
        if result := condition():
            return result
        if time.monotonic() > end:
            raise SystemExit(f"e2e-localstack: {what}: did not happen within {seconds:.0f} s")
        time.sleep(0.5)


class LocalStack:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "localstack.log"
        self.functions = folder / "functions"  # their output
        shutil.rmtree(self.functions, ignore_errors=True)
        self.functions.mkdir()
        self._files = folder / "files"
        shutil.rmtree(self._files, ignore_errors=True)
        self._files.mkdir()
        self.port = free_port()
        self.environment = {
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ENDPOINT_URL": f"http://localhost:{self.port}",
            "AWS_ENDPOINT_URL_S3": f"http://localhost:{self.port}",
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        settings = {
            "GATEWAY_SERVER": "hypercorn",  # the default one listens on every interface
            "GATEWAY_LISTEN": f"127.0.0.1:{self.port}",
            "LOCALSTACK_HOST": f"localhost:{self.port}",
            "FILESYSTEM_ROOT": str(self._files),
            "TMPDIR": str(self._files),
            "DISABLE_EVENTS": "1",
            "SKIP_SSL_CERT_DOWNLOAD": "1",
            "DNS_ADDRESS": "0",
            "CFN_IGNORE_UNSUPPORTED_RESOURCE_TYPES": "1",  # LocalStack has no dashboards
            "FUNCTION_LOGS": str(self.functions),
            # Seconds between two polls of a queue or a stream. By default they grow to ten, too long for this test.
            "LAMBDA_EVENT_SOURCE_MAPPING_POLL_INTERVAL_SEC": "0.3",
            "LAMBDA_EVENT_SOURCE_MAPPING_MAX_BACKOFF_ON_EMPTY_POLL_SEC": "1",
            "LAMBDA_RUNTIME_EXECUTOR": "process",
            "PROVIDER_OVERRIDE_DYNAMODB": "moto",
            "PROVIDER_OVERRIDE_DYNAMODBSTREAMS": "moto",
        }
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "localstack.runtime.main"],
                env=inherited() | settings, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
            )
        try:
            until("LocalStack answers", 120, self._healthy)
        except BaseException:
            self.stop()
            raise

    def _healthy(self) -> bool:
        if self._process.poll() is not None:
            raise SystemExit(f"e2e-localstack: LocalStack ended with {self._process.returncode}: see {self.log}")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/_localstack/health", timeout=2) as answer:
                return answer.status == 200
        except OSError:
            return False

    def stop(self) -> None:
        """Kills the process and its session, functions that still run included, and removes its files. A graceful end would
        take long and has nothing to save."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        shutil.rmtree(self._files, ignore_errors=True)

    @functools.cache
    def client(self, service: str):
        return boto3.client(
            service, endpoint_url=self.environment["AWS_ENDPOINT_URL"], region_name=REGION,
            aws_access_key_id="test", aws_secret_access_key="test",
        )

    def run(self, *command: str, check: bool = True, **environment: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command, env=inherited() | self.environment | environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600
        )
        if check and done.returncode:
            raise SystemExit(f"e2e-localstack: {' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done

    def landfall(self, *arguments: str, check: bool = True) -> str:
        """Runs the command line and returns its output."""
        return self.run(str(self.folder / "landfall"), *arguments, check=check).stdout

    @functools.cache
    def queue(self, name: str) -> str:
        """The URL of a queue."""
        return self.client("sqs").get_queue_url(QueueName=name)["QueueUrl"]

    def function_log(self, name: str) -> str:
        """The output of a function; empty if it never started."""
        file = self.functions / (name + ".log")
        return file.read_text() if file.exists() else ""

    def inventory(self) -> set[str]:
        """All resources of the kinds that the stack has, except the log groups that LocalStack makes for functions in place
        of the stack's own."""
        found = set()
        for service, operation, key, name in (
            ("cloudformation", "describe_stacks", "Stacks", "StackName"),
            ("cloudwatch", "describe_alarms", "MetricAlarms", "AlarmName"),
            ("cloudwatch", "list_dashboards", "DashboardEntries", "DashboardName"),
            ("dynamodb", "list_tables", "TableNames", None),
            ("events", "list_rules", "Rules", "Name"),
            ("iam", "list_roles", "Roles", "RoleName"),
            ("lambda", "list_event_source_mappings", "EventSourceMappings", "UUID"),
            ("lambda", "list_functions", "Functions", "FunctionName"),
            ("logs", "describe_log_groups", "logGroups", "logGroupName"),
            ("s3", "list_buckets", "Buckets", "Name"),
            ("sns", "list_topics", "Topics", "TopicArn"),
            ("sqs", "list_queues", "QueueUrls", None),
        ):
            for each in getattr(self.client(service), operation)().get(key, []):
                if key == "Stacks" and each["StackStatus"] == "DELETE_COMPLETE":
                    continue  # AWS lists these only for a given resource
                found.add(f"{service} {key} {each[name] if name else each}")
        for each in self.client("iam").list_policies(Scope="Local")["Policies"]:
            found.add(f"iam Policies {each['PolicyName']}")
        return {thing for thing in found if not thing.startswith("logs logGroups /aws/lambda/")}


def inherited() -> dict[str, str]:
    """The environment without variables for another account or for a proxy."""
    return {
        name: value for name, value in os.environ.items()
        if not name.startswith(("AWS_", "LANDFALL_", "CDK_")) and name.lower() not in ("http_proxy", "https_proxy", "all_proxy")
    }


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class CDK:
    def __init__(self, account: LocalStack, context: dict[str, str]) -> None:
        self._account, self.assembly = account, str(account.folder / "cdk.out")
        self._context = [word for name, value in context.items() for word in ("--context", f"{name}={value}")]

    def __call__(self, *command: str, check: bool = True, app: str = "") -> subprocess.CompletedProcess[str]:
        """Runs a command of the CDK for the app, or for another app or assembly."""
        return self._account.run(
            "node_modules/.bin/cdk", *command, *self._context, "--app", app or str(self._account.folder / "infra"), "--output", self.assembly,
            "--no-notices", check=check, CI="true", CDK_DISABLE_CLI_TELEMETRY="true", CDK_DISABLE_VERSION_CHECK="1",
        )

    def bootstrap(self) -> None:
        self("bootstrap", f"aws://{ACCOUNT}/{REGION}")

    def deploy(self) -> dict[str, str]:
        """Returns the stack's outputs."""
        outputs = self._account.folder / "outputs.json"
        self("deploy", "--require-approval", "never", "--outputs-file", str(outputs))
        return next(iter(json.loads(outputs.read_text()).values()))
