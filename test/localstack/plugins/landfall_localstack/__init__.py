"""What LocalStack needs in order to run without Docker.

`process` runs functions as processes of this machine, `dynamodb` answers DynamoDB and its streams with moto. Both are
for tests: a function is not confined in any way, and moto's DynamoDB is not meant for many writers at once.
"""
