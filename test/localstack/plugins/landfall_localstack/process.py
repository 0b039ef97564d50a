"""Runs the functions of LocalStack's Lambda as processes.

An execution environment is one process and one Lambda runtime API, on a loopback port of its own. As on Lambda, an
environment handles one invocation at a time, is killed when one takes too long, and ends what it has begun before it
gives way to a new version.
"""

from localstack.services.lambda_.invocation.plugins import RuntimeExecutorPlugin


class ProcessPlugin(RuntimeExecutorPlugin):
    name = "process"

    def load(self, *args, **kwargs):
        # Imported late: LocalStack lists its plug-ins before it is ready to be imported as a whole.
        from landfall_localstack.executor import ProcessExecutor

        return ProcessExecutor
