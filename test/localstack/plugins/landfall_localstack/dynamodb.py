"""DynamoDB and DynamoDB Streams by moto, which is part of LocalStack, in place of a program that has to be downloaded."""

from localstack.services.plugins import Service, aws_provider


@aws_provider(api="dynamodb", name="moto")
def tables() -> Service:
    from localstack.aws.api.dynamodb import DynamodbApi

    return _service(DynamodbApi)


@aws_provider(api="dynamodbstreams", name="moto")
def streams() -> Service:
    from localstack.aws.api.dynamodbstreams import DynamodbstreamsApi

    return _service(DynamodbstreamsApi)


def _service(api: type) -> Service:
    from localstack.services.moto import MotoFallbackDispatcher

    # An API of which nothing is implemented: each operation falls through to moto.
    provider = type("Moto" + api.__name__, (api,), {})
    return Service.for_provider(provider(), dispatch_table_factory=MotoFallbackDispatcher)
