"""LocalStack's port for whatever runs functions, with processes."""

import json
import logging
import os
import subprocess
import threading
import time
from pathlib import Path

from localstack import config
from localstack.services.lambda_.invocation.executor_endpoint import StatusErrorException
from localstack.services.lambda_.invocation.lambda_models import FunctionVersion, InvocationResult
from localstack.services.lambda_.invocation.runtime_executor import RuntimeExecutor

from landfall_localstack.runtime_api import Answer, Invocation, RuntimeAPI, seconds_until

LOG = logging.getLogger(__name__)

START_SECONDS = 10  # what Lambda gives a function to start

# A folder that gets a file per function with all that it prints. LocalStack's own log of a function misses what an
# invocation prints that ends after its version.
LOGS_ENV = "FUNCTION_LOGS"


class ProcessExecutor(RuntimeExecutor):
    def __init__(self, id: str, function_version: FunctionVersion) -> None:
        super().__init__(id, function_version)
        self._api = RuntimeAPI()
        self._process: subprocess.Popen | None = None
        self._busy = threading.Lock()  # held while an invocation runs
        self._lines: list[str] = []
        self._reported = 0  # lines that some invocation's log has already
        folder = os.environ.get(LOGS_ENV)
        self._file = open(Path(folder) / f"{function_version.id.function_name}.log", "a", buffering=1) if folder else None

    @classmethod
    def prepare_version(cls, function_version: FunctionVersion) -> None:
        if function_version.config.code:
            function_version.config.code.prepare_for_execution()

    @classmethod
    def cleanup_version(cls, function_version: FunctionVersion) -> None:
        """The code stays: an invocation of this version may still run from it."""

    def start(self, env_vars: dict[str, str]) -> None:
        folder = Path(self.function_version.config.code.get_unzipped_code_location())
        env = {name: str(value) for name, value in env_vars.items() if value is not None}
        env |= {"AWS_LAMBDA_RUNTIME_API": self._api.address, "LAMBDA_TASK_ROOT": str(folder), "PATH": os.environ["PATH"]}
        program = folder / "bootstrap"
        program.chmod(program.stat().st_mode | 0o111)
        self._process = subprocess.Popen(
            [program], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        )
        threading.Thread(target=self._read, daemon=True).start()
        trouble = self._api.ready.result(timeout=START_SECONDS)
        if trouble:
            raise StatusErrorException("the function does not start", payload=trouble.payload)

    def _read(self) -> None:
        for line in self._process.stdout:
            self._print(line)
        self._process.wait()
        self._api.exited()

    def _print(self, line: str) -> None:
        self._lines.append(line)
        if self._file:
            self._file.write(line)

    def invoke(self, payload: dict[str, str]) -> InvocationResult:
        timeout = self.function_version.config.timeout
        body = payload["payload"]
        invocation = Invocation(
            id=payload["invoke-id"],
            arn=payload["invoked-function-arn"],
            trace=payload.get("trace-id") or "",
            payload=body.encode() if isinstance(body, str) else body,
            deadline=time.time() + timeout,
        )
        with self._busy:
            self._print(f"START RequestId: {invocation.id}\n")
            self._api.invoke(invocation)
            try:
                answer = invocation.answer.result(timeout=seconds_until(invocation.deadline))
            except TimeoutError:
                self._process.kill()
                message = f"{invocation.id} Task timed out after {timeout:.2f} seconds"
                self._print(message + "\n")
                answer = Answer(json.dumps({"errorMessage": message}).encode(), failed=True)
        return InvocationResult(invocation.id, answer.payload, is_error=answer.failed, logs=self._log(invocation.id))

    def _log(self, request_id: str) -> str:
        """What was printed since the last time. A line that is still in the pipe is in the next invocation's log."""
        until = len(self._lines)
        printed, self._reported = self._lines[self._reported : until], until
        return f"{''.join(printed)}END RequestId: {request_id}\nREPORT RequestId: {request_id}\n"

    def stop(self) -> None:
        """Does not wait: whoever stops an environment holds up a deployment."""
        threading.Thread(target=self._end, daemon=True).start()

    def _end(self) -> None:
        with self._busy:
            if self._process:
                self._process.kill()
                self._process.wait()
            self._api.close()

    def get_address(self) -> str:
        return "127.0.0.1"

    def get_endpoint_from_executor(self) -> str:
        return "127.0.0.1"

    def get_runtime_endpoint(self) -> str:
        return f"http://127.0.0.1:{config.GATEWAY_LISTEN[0].port}/_localstack_lambda/{self.id}"

    def get_logs(self) -> str:
        return "".join(self._lines)
